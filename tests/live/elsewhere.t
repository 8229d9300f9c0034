#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Processes in other namespaces and of other users, and the screen of cprof top."""
import os
import pty
import re
import select
import shutil
import signal
import subprocess
import sys
import termios
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
sys.dont_write_bytecode = True
import live  # noqa: E402
import tap  # noqa: E402
import under  # noqa: E402

STILL = under.program("live/still")
TRUTH = {"keep": (1000, 300000) * 2, "pass": (500, 20000, 0, 0)}
PROCESS = 6
ALTERNATE, NORMAL = b"\x1b[?1049h", b"\x1b[?1049l"

if not live.private_shm("1G"):
    tap.skip_all("a /dev/shm of its own can't be mounted here")


def child_of(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
        return int(file.read().split()[0])


def check_exact(path, what):
    tap.equal((under.check([path]), live.figures(path, *TRUTH)), ("", TRUTH), what)


def check_pid_namespace():
    """A process that is number 1 or 2 of its own namespace, with this /dev/shm."""
    if os.geteuid() != 0:
        tap.skip("another pid namespace", "not root")
        return
    with live.Place() as place:
        outer = place.start(["unshare", "--pid", "--fork", "--mount-proc", STILL, "sleep"], ONLY="still")
        pid = child_of(outer.pid)
        (segment,) = live.segments()
        tap.ok(re.search(r"/[12]-\d+\.segment$", segment), "the segment has the number that the process gives itself",
               segment)
        row = re.search(r"^ *(\d+) still +(\w+)", live.cprof("ls").stdout, re.M)
        tap.equal(row and row.groups(), (str(pid), "alive"), "ls: by the number that it has here")
        result = live.cprof("dump", "-o", place.file("d.pb.gz"), pid)
        tap.equal((result.returncode, result.stderr), (0, ""), "dump: by the number that it has here")
        check_exact(place.file("d.pb.gz"), "dump: exact")
        inside = subprocess.run(["unshare", "--pid", "--fork", "--mount-proc", under.CPROF, "recover", "--all"],
                                capture_output=True, text=True, check=False, env=under.environment(preload=None))
        tap.equal((inside.returncode, live.segments()), (0, [segment]),
                  "recover from where it can't be seen: left alone")
        inside = subprocess.run(["unshare", "--pid", "--fork", "--mount-proc", under.CPROF, "recover", segment],
                                capture_output=True, text=True, check=False, env=under.environment(preload=None))
        tap.ok(inside.returncode == PROCESS and "in use" in inside.stderr, "recover FILE from there: refused", inside)
        os.kill(pid, signal.SIGKILL)
        outer.wait()
        result = live.cprof("recover", "--all")
        tap.equal((result.returncode, live.segments()), (0, []), "killed, it is recovered")


def check_mount_namespace():
    """A /dev/shm of its own, as in a container."""
    if os.geteuid() != 0:
        tap.skip("another mount namespace", "not root")
        return
    with live.Place() as place:
        process = place.start(["unshare", "--mount", "sh", "-c", f"mount -t tmpfs none /dev/shm && exec {STILL} sleep"],
                              ONLY="still")
        tap.equal(live.segments(), [], "its segment is not in this /dev/shm")
        result = live.cprof("dump", "-o", place.file("d.pb.gz"), process.pid)
        tap.equal((result.returncode, result.stderr), (0, ""), "dump: found all the same")
        check_exact(place.file("d.pb.gz"), "dump: exact")


def check_other_user():
    if os.geteuid() != 0 or not shutil.which("setpriv"):
        tap.skip("another user's process", "not root")
        return
    with live.Place() as place:
        os.chmod(place.path, 0o777)
        for path in (STILL, under.LIBRARY, under.BACKEND, under.CPROF):
            shutil.copy(path, place.file(os.path.basename(path)))
        process = subprocess.Popen(["setpriv", "--reuid=12345", "--regid=12345", "--clear-groups", "env",
                                    f"LD_PRELOAD={place.file('libcprof.so')}", place.file("still"), "sleep"],
                                   env={**place.environment(), "LD_PRELOAD": ""}, stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, text=True)
        place.started.append(process)
        process.stdout.readline()
        tap.equal(live.cprof("ls").stdout, "", "ls: not listed")
        tap.ok(re.search(rf"^ *{process.pid} still", live.cprof("ls", "--all").stdout, re.M),
               "ls --all: listed, for root")
        result = live.cprof("dump", "-o", place.file("d.pb.gz"), process.pid)
        tap.equal(result.returncode, 0, "dump: root may look")
        check_exact(place.file("d.pb.gz"), "dump: exact")
        other = ["setpriv", "--reuid=12346", "--regid=12346", "--clear-groups", place.file("cprof")]
        for command in (["dump", str(process.pid)], ["top", "--once", str(process.pid)]):
            result = subprocess.run([*other, *command], capture_output=True, text=True, check=False, cwd="/",
                                    env=under.environment(preload=None))
            tap.ok(result.returncode == PROCESS and "another user" in result.stderr,
                   f"{command[0]}: another one may not", result)
        process.kill()
        process.wait()
        result = live.cprof("recover", "--all")
        directory = "/dev/shm/cprof-12345"
        tap.equal((result.returncode, result.stdout, len(os.listdir(directory))), (0, "", 1),
                  "recover: left to its own user")
        shutil.rmtree(directory)


class Screen:
    """cprof top on a terminal."""

    def __init__(self, pid, *options):
        self.pid, self.master = pty.fork()
        if self.pid == 0:
            os.execve(under.CPROF, ["cprof", "top", "--interval", "0.1", *options, str(pid)],
                      under.environment(preload=None))
        self.before = termios.tcgetattr(self.master)
        self.output = b""

    def read_until(self, pattern, seconds=20):
        end = time.monotonic() + seconds
        while not re.search(pattern, self.output, re.S) and time.monotonic() < end:
            if select.select([self.master], [], [], 0.05)[0]:
                try:
                    self.output += os.read(self.master, 65536)
                except OSError:
                    break
        found = re.search(pattern, self.output, re.S)
        self.output = b"" if found else self.output
        return found

    def press(self, keys):
        os.write(self.master, keys)

    def end(self):
        """Exit status, and whether the terminal is as it was."""
        left = self.read_until(re.escape(NORMAL))
        _, status = os.waitpid(self.pid, 0)
        after = termios.tcgetattr(self.master)
        os.close(self.master)
        return os.waitstatus_to_exitcode(status), bool(left) and after == self.before


def check_screen():
    with live.Place() as place:
        process = place.start([STILL, "spin"])
        screen = Screen(process.pid)
        tap.ok(screen.read_until(re.escape(ALTERNATE) + rb".*cprof top: still.*292\.97kB.*keep"), "top: the screen")
        for keys, pattern, what in ((b"s", rb"alloc_objects by flat.* 1000 .*keep", "s: the next type"),
                                    (b"s", rb"alloc_space by flat.*19\.53kB.*pass", "s: and the next"),
                                    (b"c", rb"alloc_space by cum.*main", "c: by cum"),
                                    (b"\x1b[B", rb"by cum", "an arrow key")):
            screen.output = b""
            screen.press(keys)
            tap.ok(screen.read_until(pattern), f"top: {what}", screen.output[-2000:])
        screen.press(b"q")
        tap.equal(screen.end(), (0, True), "q: the terminal is as it was")
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            screen = Screen(process.pid, "-alloc_space")
            screen.read_until(rb"alloc_space by flat")
            os.kill(screen.pid, number)
            tap.equal(screen.end(), (-number, True), f"{number.name}: the terminal is as it was")
        screen = Screen(process.pid)
        screen.read_until(rb"cprof top")
        process.kill()
        process.wait()
        tap.equal(screen.end(), (0, True), "the process ends: so does top, and the terminal is as it was")


check_pid_namespace()
check_mount_namespace()
check_other_user()
check_screen()
tap.done()
