#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Where the library can't profile, or must not: the program runs on as without it."""
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
sys.dont_write_bytecode = True
import pprof  # noqa: E402
import tap  # noqa: E402
import under  # noqa: E402

STEPS = under.program("system/steps")
NOBODY = 65534
DO = ["keep_a:1000:100", "pass:3000:10", "say:hello", "exit:7"]


def copies(place, name):
    """A directory with a copy of the library and its backend."""
    path = os.path.join(place, name)
    os.mkdir(path)
    shutil.copy(under.LIBRARY, path)
    shutil.copy(under.BACKEND, path)
    return path


def check_broken(what, library, place, cause):
    out = os.path.join(place, "broken.pb.gz")
    process = subprocess.Popen([STEPS, *DO], env=under.environment({"RATE": "1", "OUT": out}, library), text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    output, errors = process.communicate(timeout=under.TIMEOUT)
    tap.equal((process.returncode, output), (7, "hello\n"), f"{what}: the program runs as ever")
    tap.ok(re.fullmatch(rf"cprof\[\d+\]: not profiling: .*{cause}.*\n", errors), f"{what}: one line says why", errors)
    tap.ok(not os.path.exists(out), f"{what}: no profile")
    left = under.segments(process.pid)
    tap.equal(left, [], f"{what}: nor a segment")
    for path in left:
        os.remove(path)


def check_backend(place):
    where = copies(place, "missing")
    os.remove(os.path.join(where, "libcprof-backend.so"))
    check_broken("no backend", f"{where}/libcprof.so", place, "libcprof-backend.so.*No such file")

    where = copies(place, "library")
    backend = os.path.join(where, "libcprof-backend.so")
    with open(backend, "rb") as file:
        data = file.read()
    tap.equal(data.count(b"libunwind-x86_64.so.8\0"), 1, "the backend names libunwind once")
    with open(backend, "wb") as file:
        file.write(data.replace(b"libunwind-x86_64.so.8\0", b"libunwind-x86_64.so.X\0"))
    check_broken("a library of the backend's missing", f"{where}/libcprof.so", place, "libunwind-x86_64.so.X")

    where = copies(place, "version")
    shutil.copy(under.program("system/old_backend_plugin.so"), os.path.join(where, "libcprof-backend.so"))
    check_broken("a backend of another version", f"{where}/libcprof.so", place, "version")

    where = copies(place, "stranger")
    shutil.copy(under.program("system/thrower_plugin.so"), os.path.join(where, "libcprof-backend.so"))
    check_broken("a backend that is none", f"{where}/libcprof.so", place, "cprof_backend")

    where = copies(place, "text")
    with open(os.path.join(where, "libcprof-backend.so"), "w", encoding="ascii") as file:
        file.write("hello\n")
    check_broken("a backend that is text", f"{where}/libcprof.so", place, "libcprof-backend.so")

    where = copies(place, "a directory, with: odd characters")
    # LD_PRELOAD is split at blanks and colons, so by a link.
    link = os.path.join(place, "link")
    os.symlink(where, link)
    out = os.path.join(place, "link.pb.gz")
    result = under.run([STEPS, *DO], {"RATE": "1", "OUT": out}, f"{link}/libcprof.so")
    tap.equal((under.outcome(result), pprof.load(out).flat("alloc_space")["keep_a"]), ((7, "hello\n", ""), 100000),
              "a backend beside a link to the library")


def check_static(place):
    static = under.program("system/steps.static")
    out = os.path.join(place, "static.pb.gz")
    headers = subprocess.run(["readelf", "-lW", static], capture_output=True, text=True, check=True).stdout
    tap.ok("INTERP" not in headers, "a static program", headers)
    result = under.run([static, *DO], {"RATE": "1", "OUT": out})
    tap.equal(under.outcome(result), (7, "hello\n", ""), "a static program runs as ever")
    tap.ok(not os.path.exists(out), "and has no profile")


def check_setuid(place):
    """As nobody, a program of root's with its setuid bit. The loader lets only libraries of the system in that have
    that bit too, so ours is put in the place of one, where only we see it."""
    what = "a setuid program"
    victim = "/lib/x86_64-linux-gnu/libmemusage.so"
    if os.geteuid() != 0 or not os.path.exists(victim) or not (shutil.which("unshare") and shutil.which("setpriv")):
        tap.skip(what, f"needs root, unshare, setpriv and {victim}")
        return
    os.chmod(place, 0o777)
    steps, library = os.path.join(place, "setuid-steps"), os.path.join(place, "setuid.so")
    shutil.copy(STEPS, steps)
    shutil.copy(under.LIBRARY, library)
    os.chmod(steps, 0o4755)
    os.chmod(library, 0o4755)
    out = os.path.join(place, "setuid.pb.gz")
    user = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
    script = f"mount --bind {library} {victim} && exec {' '.join(user)} env LD_PRELOAD=libmemusage.so " \
             f"CPROF_NONSENSE=1 CPROF_RATE=1 CPROF_OUT={out} {steps} stats {' '.join(DO)}"
    result = under.plain(["unshare", "-m", "sh", "-c", script])
    if "unshare" in result.stderr or "mount" in result.stderr:
        tap.skip(what, result.stderr.strip())
        return
    tap.equal(under.outcome(result), (7, "not profiled: ENODATA\nhello\n", ""),
              f"{what}: the library is there, and inert")
    tap.ok(not os.path.exists(out), f"{what}: no profile, whatever its caller says")
    # The same without the bit, so that we know it was for its sake.
    os.chmod(steps, 0o755)
    result = under.plain(["unshare", "-m", "sh", "-c", script.replace("CPROF_NONSENSE=1", "")])
    tap.ok(result.returncode == 7 and "not profiling" in result.stderr,
           f"{what}: without the bit it is not inert", result)


with tempfile.TemporaryDirectory(prefix="cprof-backend.") as directory:
    check_backend(directory)
    check_static(directory)
    check_setuid(directory)
tap.done()
