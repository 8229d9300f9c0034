# SPDX-License-Identifier: Apache-2.0
"""Processes under the library, looked at by the command while they live and after they were killed.

    import live
    live.private_shm("64M")            this test alone sees a /dev/shm of its own; False if that can't be had
    with live.Place() as place:        an empty directory
        process = place.start([program, ...], RATE="1")        Popen; its profile is going to be place.out(process.pid)
        live.cprof("dump", "-o", path, process.pid)            CompletedProcess
"""
import ctypes
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

import pprof
import under

CLONE_NEWNS, CLONE_NEWUSER = 0x20000, 0x10000000
MS_REC, MS_PRIVATE = 0x4000, 0x40000
PR_SET_CHILD_SUBREAPER = 36

_libc = ctypes.CDLL(None, use_errno=True)


def _call(function, *arguments):
    if function(*arguments) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def mount(source, target, kind, flags=0, data=None):
    encoded = [text.encode() if text is not None else None for text in (source, target, kind)]
    _call(_libc.mount, *encoded, ctypes.c_ulong(flags), data.encode() if data else None)


def unmount(target):
    _call(_libc.umount, target.encode())


def _enter_namespaces():
    uid, gid = os.getuid(), os.getgid()
    if uid == 0:
        _call(_libc.unshare, CLONE_NEWNS)
    else:
        _call(_libc.unshare, CLONE_NEWNS | CLONE_NEWUSER)
        for name, text in (("setgroups", "deny"), ("uid_map", f"{uid} {uid} 1"), ("gid_map", f"{gid} {gid} 1")):
            with open(f"/proc/self/{name}", "w", encoding="ascii") as file:
                file.write(text)
    mount("none", "/", None, MS_REC | MS_PRIVATE)


_entered = False


def private_shm(size, options=""):
    """Mounts another /dev/shm, for this process and its children. May be called again."""
    global _entered
    try:
        if not _entered:
            _enter_namespaces()
            _entered = True
        mount("cprof-test", "/dev/shm", "tmpfs", 0, f"size={size},mode=1777{options}")
    except OSError:
        return False
    return True


def adopt_orphans():
    """Orphaned grandchildren become children, so that their ends can be waited for."""
    _call(_libc.prctl, PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def cprof(*arguments, **options):
    options = {"capture_output": True, "text": True, "errors": "surrogateescape", "timeout": under.TIMEOUT,
               "check": False, "stdin": subprocess.DEVNULL, "env": under.environment(preload=None), **options}
    return subprocess.run([under.CPROF, *(str(argument) for argument in arguments)], **options)


class Place:
    """An empty directory for profiles."""

    def __init__(self):
        self.path = tempfile.mkdtemp(prefix="cprof-live.")
        self.started = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in self.started:
            if process.poll() is None:
                process.kill()
            process.wait()
            for stream in (process.stdin, process.stdout, process.stderr):
                if stream:
                    stream.close()
            for path in segments_of(process.pid):
                os.unlink(path)
        shutil.rmtree(self.path)

    def file(self, name):
        return os.path.join(self.path, name)

    def out(self, pid):
        return self.file(f"x.{pid}.pb.gz")

    def environment(self, **settings):
        return under.environment({"RATE": "1", "OUT": self.file("x.%p.pb.gz"), **settings})

    def start(self, command, **settings):
        """Starts it, and returns once it has printed a line, which is in .line."""
        process = subprocess.Popen(command, env=self.environment(**settings), stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.started.append(process)
        process.line = process.stdout.readline().rstrip("\n")
        return process

    def adopt(self, process):
        """It is killed at the end, as those are that were started here."""
        self.started.append(process)

    def files(self):
        return sorted(os.listdir(self.path))


def _all_segments():
    return sorted(glob.glob(f"/dev/shm/cprof-{os.geteuid()}/*.segment"))


_others = set(_all_segments())  # were there before, where /dev/shm could not be made the test's own


def segments():
    """Names of the files there are of this user, and came during the test."""
    return [path for path in _all_segments() if path not in _others]


def segments_of(pid):
    return [path for path in segments() if re.match(rf"{pid}-", os.path.basename(path))]


def figures(path, *functions, inherited=False):
    """{function: (alloc_objects, alloc_space, inuse_objects, inuse_space)} of the functions' own frames."""
    profile = pprof.load(path)
    sums = {name: [0, 0, 0, 0] for name in functions}
    for sample in profile.samples:
        leaf = profile.pruned(sample)[:1]
        if leaf and leaf[0] in sums and ("inherited" in sample.labels) == inherited:
            for i, kind in enumerate(("alloc_objects", "alloc_space", "inuse_objects", "inuse_space")):
                sums[leaf[0]][i] += sample.values[kind]
    return {name: tuple(values) for name, values in sums.items()}


def totals(path):
    profile = pprof.load(path, symbolize=False)
    return {kind: profile.total(kind) for kind, _ in profile.sample_types}


def wait_until(condition, seconds=20):
    """What the condition returned, once that is true; or, when the time is over, whatever it returns then."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        result = condition()
        if result:
            return result
        time.sleep(0.01)
    return condition()


def state(pid):
    """R, S, T... as in /proc/PID/stat; None if there is no such process."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[0]
    except OSError:
        return None


if __name__ == "__main__":
    sys.exit("a library, not a program")
