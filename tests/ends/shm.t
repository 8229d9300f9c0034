#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""/dev/shm in all states there are: the program never notices, and its profile is exact. What can't be seen from
outside is said at CPROF_LOG=warn, and at no other level."""
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
sys.dont_write_bytecode = True
import live  # noqa: E402
import pprof  # noqa: E402
import tap  # noqa: E402
import under  # noqa: E402

STEPS = under.program("system/steps")
ENDS = under.program("ends/ends")
STILL = under.program("live/still")
DIRECTORY = f"/dev/shm/cprof-{os.geteuid()}"
# 4000 stacks of their own, some of them 16 calls deep: about 2 MiB of records.
WORK = [STEPS, "keep_a:100:10", "sizes:4000", "say:done", "exit:7"]
TRUTH = (4010, 1000 + 4000 * 4001 // 2)
# What is said, with all its pieces.
NO_FILE = f"no view from outside: no file in {DIRECTORY}: [a-z][a-z ]+"
NOT_OURS = f"no view from outside: {DIRECTORY} belongs to another user or is open to others"

if not live.private_shm("1G"):
    tap.skip_all("a /dev/shm of its own can't be mounted here")


def check_unharmed(what, said):
    """`said`: what there is to warn of; None: nothing."""
    for level in (None, "warn"):
        warned = said and level == "warn"
        with live.Place() as place:
            out = place.file("x.pb.gz")
            result = under.run(WORK, {"RATE": "1", "OUT": out, **({"LOG": level} if level else {})})
            tap.equal((result.returncode, result.stdout), (7, "done\n"), f"{what}: the program is unharmed")
            tap.ok(re.fullmatch(rf"cprof\[\d+\]: ({said})\n" if warned else "", result.stderr),
                   f"{what}, CPROF_LOG={level}: {'says so' if warned else 'says nothing'}", result.stderr)
            sums = live.totals(out)
            tap.equal((sums["alloc_objects"], sums["alloc_space"]), TRUTH, f"{what}: the profile is exact")
            tap.equal(under.check([out]), "", f"{what}: and valid")


def check_fork(what):
    with live.Place() as place:
        result = under.run([STEPS, "keep_a:10:10", "fork", "keep_b:20:10"],
                           {"RATE": "1", "OUT": place.file("x.%p.pb.gz")})
        found = sorted(tuple(live.figures(place.file(name), "keep_a", "keep_b").values()) for name in place.files())
        tap.equal((under.outcome(result), found), ((0, "", ""), [((0,) * 4, (10, 200) * 2), ((10, 100) * 2, (0,) * 4)]),
                  f"{what}: a fork has two profiles")


def check_state(what, said):
    check_unharmed(what, said)
    check_fork(what)


def fill():
    try:
        with open("/dev/shm/filler", "wb", buffering=0) as file:
            while True:
                file.write(bytes(4096))
    except OSError:
        pass  # now it is full


def check_full():
    """Room for some of the records: what there is of them is what a view from outside shows, without a fault."""
    for size in ("4k", "64k", "256k", "512k"):
        live.private_shm(size)
        check_state(f"/dev/shm of {size}", f"no view from outside: no (room|file) in {DIRECTORY}.*|/dev/shm is full: .*")
    for size in ("300k", "500k", "1M"):
        live.private_shm(size)
        with live.Place() as place:
            process = place.start([STILL, "sleep"])
            tap.equal(process.line, "ready", f"/dev/shm of {size}: runs")
            fill()
            listed = live.cprof("ls")
            tap.equal(listed.returncode, 0, f"/dev/shm of {size}, full: ls")
            if live.segments_of(process.pid):
                result = live.cprof("dump", "-o", place.file("d.pb.gz"), process.pid)
                tap.equal((result.returncode, under.check([place.file("d.pb.gz")])), (0, ""),
                          f"/dev/shm of {size}, full: a dump is valid")
            process.kill()
            process.wait()
            result = live.cprof("recover", "--all")
            tap.equal((result.returncode, live.segments()), (0, []), f"/dev/shm of {size}, full: recover")


def check_filled_while_running():
    live.private_shm("3M")
    with live.Place() as place:
        process = place.start([STEPS, "keep_a:100:10", "say:ready", "sizes:4000", "say:done"],
                              OUT=place.file("x.pb.gz"))
        output, errors = process.communicate(timeout=under.TIMEOUT)
        sums = live.totals(place.file("x.pb.gz"))
        tap.equal((process.returncode, output, errors, sums["alloc_objects"]), (0, "done\n", "", TRUTH[0]),
                  "/dev/shm that fills up: unharmed, and exact")
        process = place.start([STEPS, "say:ready", "sizes:30000", "say:done", "sleep:60000"])
        process.stdout.readline()
        result = live.cprof("dump", "-o", place.file("d.pb.gz"), process.pid)
        (comment,) = pprof.load(place.file("d.pb.gz"), symbolize=False).comments
        tap.ok("incomplete" in result.stderr and "; records are incomplete; truncated 0, dropped 0, over memory limit 0, "
               "those that the process could not share left out;" in comment,
               "/dev/shm that fills up: seen from outside it is not all, and the comment of a dump says so", comment, result)


live.private_shm("64M")
check_state("/dev/shm of 64M", said=None)
check_full()
check_filled_while_running()

live.private_shm("64M")
os.mkdir(DIRECTORY, 0o700)
if os.geteuid() == 0:
    os.chown(DIRECTORY, 12345, 12345)
    check_state("a directory of another user", NOT_OURS)
    os.rmdir(DIRECTORY)
else:
    tap.skip("a directory of another user", "not root")
    os.rmdir(DIRECTORY)

with live.Place() as elsewhere:
    os.symlink(elsewhere.path, DIRECTORY)
    check_state("a symbolic link instead of the directory", NO_FILE)
    tap.equal(elsewhere.files(), [], "nothing is put where it leads to")
    os.unlink(DIRECTORY)

os.mkdir(DIRECTORY)
os.chmod(DIRECTORY, 0o777)
check_state("a directory open to others", NOT_OURS)
tap.equal(os.listdir(DIRECTORY), [], "nothing is put into it")
os.rmdir(DIRECTORY)

with open(DIRECTORY, "w", encoding="ascii"):
    check_state("a file instead of the directory", NO_FILE)
os.unlink(DIRECTORY)

live.private_shm("64M", ",nr_inodes=1")
check_state("no inodes left", NO_FILE)
live.private_shm("64M")
limited = under.run(["sh", "-c", f"ulimit -f 0; exec {STEPS} say:done"], {"OUT": os.devnull, "LOG": "warn", "ONLY": "steps"})
tap.ok(re.fullmatch(rf"cprof\[\d+\]: {NO_FILE}\n", limited.stderr) and limited.returncode == 0, "no files may be written", limited)
live.mount("none", "/dev/shm", "proc")
check_state("a file system that lets nobody create anything", NO_FILE)
tap.done()
