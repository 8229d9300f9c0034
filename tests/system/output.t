#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""When the profile can't be written: one line on stderr that names the file and the cause, nothing left lying about
but the segment to recover it from, and a program that never notices."""
import contextlib
import fcntl
import os
import re
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
sys.dont_write_bytecode = True
import pprof  # noqa: E402
import tap  # noqa: E402
import under  # noqa: E402

NOBODY = 65534

# Where there are records in shared memory; \1 is the number in front of the line.
ADVICE = r"; the records are kept: `cprof recover -o DIR \1` makes the profile of them"


class Runner:
    """Runs copies of the library and of a program that every user can read."""

    def __init__(self, place):
        os.chmod(place, 0o755)
        for path in (under.LIBRARY, under.BACKEND, under.program("system/steps")):
            shutil.copy(path, place)
        self.library = os.path.join(place, "libcprof.so")
        self.steps = os.path.join(place, "steps")

    def run(self, steps, out, before=None, prefix=(), cwd=None, **options):
        """(status, stdout, stderr, were there segments left?)"""
        environment = under.environment({"RATE": "1", "OUT": out}, self.library)
        del environment["LD_PRELOAD"]
        process = subprocess.Popen([*prefix, "env", f"LD_PRELOAD={self.library}", self.steps, *steps], env=environment,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=before,
                                   cwd=cwd, **options)
        output, errors = process.communicate(timeout=under.TIMEOUT)
        left = under.segments(process.pid)
        for path in left:
            os.remove(path)
        return process.returncode, output, errors, bool(left)

    def fails(self, what, out, cause, named=None, recoverable=True, steps=(), **options):
        """The program ends as ever, and the line says why there is no profile."""
        status, output, errors, left = self.run(steps or ["keep_a:1000:100", "say:hello", "exit:7"], out, **options)
        tap.equal((status, output), (7, "hello\n"), f"{what}: the program ends as ever")
        line = rf"cprof\[(\d+)\]: .*{re.escape(named or out)}.*{cause}[^;]*{ADVICE if left else ''}\n"
        tap.ok(re.fullmatch(line, errors), f"{what}: one line names the file, the cause, and what to do", errors, line)
        if recoverable:
            tap.ok(left, f"{what}: the segment is left, to recover the profile from")


def leftovers(directory):
    return sorted(os.listdir(directory))


def check_directories(runner, place):
    runner.fails("a directory that isn't there", f"{place}/missing/x.pb.gz", "no such file")
    runner.fails("a directory instead of a file", place, "is a directory")
    with open(os.path.join(place, "file"), "w", encoding="ascii"):
        pass
    runner.fails("a file instead of a directory", f"{place}/file/x.pb.gz", "not a directory")
    runner.fails("a name that is too long", f"{place}/{'x' * 256}.pb.gz", "name too long", named=f"{place}/xxx")
    runner.fails("a path that is too long", f"{place}{'/xxxxxxxxx' * 400}", "(name too long|no such file)", named=place)
    runner.fails("a path that gets too long below the directory", f"{'xxxxxxxxx/' * 409}x", "name too long",
                 named=place, cwd=place)
    os.symlink("loop", os.path.join(place, "loop"))
    runner.fails("a loop of links", f"{place}/loop/x.pb.gz", "too many symbolic links")
    runner.fails("a device that is full", "/dev/full", "no space left")
    for steps, lines in ((["fork", "exit:7"], 1), (["fork", "exec", "exit:7"], 1), (["fork", "keep_a:10:1", "exit:7"], 2)):
        status, _, errors, _ = runner.run(steps, f"{place}/missing/x.pb.gz")
        tap.equal((status, errors.count("no such file"), errors.count("\n")), (7, lines, lines),
                  f"{' '.join(steps)}: a descendant that loses nothing says nothing")
    status, output, errors, _ = runner.run(["keep_a:1000:100", "say:hello", "exit:7"], "/dev/null")
    tap.equal((status, output, errors), (7, "hello\n", ""), "/dev/null is a file like any other")


def check_pipes(runner, place):
    """Whoever should read does not: the program ends all the same, though no signal could end it meanwhile."""
    path = os.path.join(place, "pipe")
    os.mkfifo(path)
    steps = ["sizes:2000", "say:hello", "exit:7"]
    runner.fails("a pipe that nobody reads from", path, "nobody reads from it")
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    fcntl.fcntl(reader, fcntl.F_SETPIPE_SZ, 4096)
    began = time.monotonic()
    runner.fails("a pipe whose reader reads no more", path, "nothing was read from it for too long", steps=steps)
    tap.ok(5 < time.monotonic() - began < 60, "it was given some seconds to", time.monotonic() - began)
    os.close(reader)
    with subprocess.Popen(["sh", "-c", f"exec < {path}; sleep 3; exec cat"], stdout=subprocess.PIPE) as slow:
        status, _, errors, left = runner.run(steps, path)
        tap.equal((status, errors, left), (7, "", False), "a pipe whose reader is slow: no line, and nothing to recover")
        copy = os.path.join(place, "read.pb.gz")
        with open(copy, "wb") as file:
            file.write(slow.stdout.read())
        tap.ok(len(pprof.load(copy).samples) >= 2000, "and it has all of the profile")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(os.path.join(place, "socket"))
        runner.fails("a socket", os.path.join(place, "socket"), "no such device or address")
    reader, full = os.pipe()
    fcntl.fcntl(full, fcntl.F_SETPIPE_SZ, 4096)
    os.write(full, b"x" * 4096)
    environment = under.environment({"RATE": "1", "OUT": path})
    program = subprocess.Popen([under.program("system/steps"), "keep_a:10:1", "exit:7"], env=environment, stderr=full)
    try:
        tap.equal(program.wait(60), 7, "standard error is a pipe that is full: the line is left out, the program ends")
    except subprocess.TimeoutExpired:
        program.kill()
        tap.ok(False, "standard error is a pipe that is full: the line is left out, the program ends")
    for left in under.segments(program.pid):
        os.remove(left)
    os.close(reader)
    os.close(full)


def check_permission(runner, place):
    if os.geteuid() != 0 or not shutil.which("setpriv"):
        tap.skip("a directory that may not be written", "needs root and setpriv")
        return
    os.mkdir(os.path.join(place, "closed"), 0o755)
    user = ("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups")
    runner.fails("a directory that may not be written", f"{place}/closed/x.pb.gz", "permission denied", prefix=user)
    tap.equal(leftovers(os.path.join(place, "closed")), [], "and nothing is in it")


@contextlib.contextmanager
def full_disk(place):
    """A file system without a free byte, or None if we may not mount one."""
    path = os.path.join(place, "disk")
    os.mkdir(path)
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "cprof-test", path], capture_output=True,
                      check=False).returncode:
        yield None
        return
    try:
        with open(os.path.join(path, "ballast"), "wb", buffering=0) as file, contextlib.suppress(OSError):
            while file.write(b"x" * 4096):
                pass
        yield path
    finally:
        subprocess.run(["umount", "-l", path], check=True)


def check_disk(runner, place):
    with full_disk(place) as disk:
        if not disk:
            tap.skip("a full disk", "no tmpfs can be mounted here")
            return
        runner.fails("a full disk", f"{disk}/x.pb.gz", "no space left")
        tap.equal(leftovers(disk), ["ballast"], "a full disk: nothing is left on it")
        with open(os.path.join(disk, "old.pb.gz"), "wb"):
            pass
        runner.fails("a full disk with an old profile", f"{disk}/old.pb.gz", "no space left")
        tap.equal(leftovers(disk), ["ballast", "old.pb.gz"], "the old profile stays")


def limit(kind, soft, hard):
    return lambda: resource.setrlimit(kind, (soft, hard))


def check_limits(runner, place):
    inner = os.path.join(place, "limits")
    os.mkdir(inner)
    size = resource.RLIMIT_FSIZE
    for most in (0, 100):
        runner.fails(f"files of at most {most} bytes", f"{inner}/x.pb.gz", "file size limit", recoverable=False,
                     before=limit(size, most, most))
    tap.equal(leftovers(inner), [], "files of a limited size: nothing is left")

    def limited_and_blocked():
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGXFSZ})
        resource.setrlimit(size, (100, 100))
    runner.fails("the same, with SIGXFSZ blocked", f"{inner}/x.pb.gz", "file size limit", recoverable=False,
                 before=limited_and_blocked)
    status, output, errors, _ = runner.run(["limit:3:1000", "keep_a:1000:100", "say:hello", "exit:7"],
                                           f"{inner}/x.pb.gz")
    tap.equal((status, output, errors), (7, "hello\n", ""),
              "every descriptor in use: one more is had, as long as one may")
    tap.equal(leftovers(inner), ["x.pb.gz"], "and the profile is written")
    os.remove(os.path.join(inner, "x.pb.gz"))
    status, output, errors, left = runner.run(["limit:3:3", "keep_a:1000:100", "say:hello", "exit:7"],
                                              f"{inner}/x.pb.gz")
    tap.equal((status, output), (7, "hello\n"), "no descriptor to be had: the program ends as ever")
    tap.ok(re.fullmatch(rf"cprof\[(\d+)\]: .*/x.pb.gz: too many open files{ADVICE}\n", errors) and left,
           "no descriptor to be had: one line, and the segment", errors)
    tap.equal(leftovers(inner), [], "and nothing is left")


def check_closed(runner, place):
    inner = os.path.join(place, "closed-stdio")
    os.mkdir(inner)
    close = ["close:0", "close:1", "close:2"]
    status, output, errors, _ = runner.run(["keep_a:10:1", *close, "keep_a:10:1", "exit:7"], f"{inner}/x.pb.gz")
    tap.equal((status, output, errors), (7, "", ""), "standard input, output and error closed")
    tap.equal(pprof.load(f"{inner}/x.pb.gz").flat("alloc_space")["keep_a"], 20, "and the profile is whole")
    for order in (["close:0"], ["close:1"], ["close:2"], ["close:2", "close:0"]):
        status, _, errors, _ = runner.run([*order, "keep_a:10:1", "exit:7"], f"{inner}/x.pb.gz")
        tap.equal((status, errors), (7, ""), f"{' '.join(order)}")
    status, _, errors, _ = runner.run([*close, "exit:7"], f"{place}/missing/x.pb.gz")
    tap.equal((status, errors), (7, ""), "all closed, and nowhere to write to")
    tap.equal(leftovers(inner), ["x.pb.gz"], "one file, and nothing beside it")


with tempfile.TemporaryDirectory(prefix="cprof-output.") as where:
    run = Runner(where)
    check_directories(run, where)
    check_pipes(run, where)
    check_permission(run, where)
    check_disk(run, where)
    check_limits(run, where)
    check_closed(run, where)
    tap.equal([name for name in leftovers(where) if "tmp" in name], [], "no temporary file is left")
tap.done()
