#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Commands that can't write what they made: on a full disk, a read-only one, beyond a limit on the size of files, with standard
output closed or full. One line says so, the exit status too, nothing is left half-written, and what the profile is made of
is still there for the next try."""
import os
import resource
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
sys.dont_write_bytecode = True
import live  # noqa: E402
import tap  # noqa: E402
import under  # noqa: E402

STILL = under.program("live/still")
EXIT_OUTPUT = 4

if not live.private_shm("1G"):
    tap.skip_all("a /dev/shm of its own can't be mounted here")


def small_files():
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))


def full_output():
    os.dup2(os.open("/dev/full", os.O_WRONLY), 1)


def closed_output():
    os.close(1)


def mounted(place, name, options):
    path = place.file(name)
    os.mkdir(path)
    live.mount("cprof-test", path, "tmpfs", 0, options)
    return path


def fill(path):
    try:
        with open(path, "wb", buffering=0) as file:
            while True:
                file.write(bytes(4096))
    except OSError:
        pass  # now it is full


def places(place):
    """[(what, directory, options of the command's process)]"""
    read_only = mounted(place, "read-only", "size=1M")
    live.mount("none", read_only, None, 0x20 | 1)  # MS_REMOUNT | MS_RDONLY
    full = mounted(place, "full", "size=64k")
    fill(os.path.join(full, "ballast"))
    limited = place.file("limited")
    os.mkdir(limited)
    return [("a read-only directory", read_only, {}), ("a full disk", full, {}),
            ("a limit on file sizes", limited, {"preexec_fn": small_files}),
            ("a directory that isn't there", place.file("missing"), {})]


def refused(result, what, named):
    lines = result.stderr.splitlines()
    tap.ok(result.returncode == EXIT_OUTPUT and len(lines) == 1 and lines[0].startswith("cprof: ") and named in lines[0],
           f"{what}: exit status {EXIT_OUTPUT}, and one line that names {os.path.basename(named)}", result)


def check_files(place, commands, before):
    """`commands`: name of the command, to its arguments in front of the name of what it shall write. `before`: what must be
    there whatever happens."""
    for what, directory, options in places(place):
        held = sorted(os.listdir(directory)) if os.path.isdir(directory) else []
        for name, arguments in commands.items():
            out = os.path.join(directory, f"{name}.out")
            refused(live.cprof(*arguments, out, **options), f"{name}, {what}", out)
            tap.equal(sorted(os.listdir(directory)) if os.path.isdir(directory) else [], held, f"{name}, {what}: nothing is left")
            tap.ok(all(os.path.exists(path) for path in before), f"{name}, {what}: what it was made of is there")


def check_streams(commands):
    for what, change in (("full", full_output), ("closed", closed_output)):
        for name, arguments in commands.items():
            options = {"preexec_fn": change, "capture_output": False, "stderr": under.subprocess.PIPE}
            refused(live.cprof(*arguments, "-", **options), f"{name}, standard output {what}", "standard output")


with live.Place() as where:
    running, killed = (where.start([STILL, "sleep"]) for _ in range(2))
    killed.kill()
    killed.wait()
    good = where.file("good.pb.gz")
    tap.equal(live.cprof("dump", "-o", good, running.pid).returncode, 0, "a profile to work with")
    (segment,) = live.segments_of(killed.pid)
    making = {"dump": ["dump", running.pid, "-o"], "recover": ["recover", killed.pid, "-o"],
              "symbolize": ["symbolize", good, "-o"], "flame": ["flame", good, "-o"]}
    check_files(where, making, [good, segment])
    check_streams({name: making[name] for name in ("dump", "symbolize", "flame")})
    made = where.file("at-last.pb.gz")
    tap.equal(live.cprof("recover", killed.pid, "-o", made).returncode, 0, "after all that: it can be recovered")
    tap.equal((under.check([made]), os.path.exists(segment)), ("", False), "is valid, and its segment gone")
    for command in (["top", good], ["check", good], ["ls"], ["doctor", STILL]):
        done = live.cprof(*command, preexec_fn=full_output, capture_output=False, stderr=under.subprocess.PIPE)
        refused(done, f"{command[0]}, standard output full", "standard output")
    for name in ("read-only", "full"):
        live.unmount(where.file(name))
tap.done()
