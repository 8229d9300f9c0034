# SPDX-License-Identifier: Apache-2.0
"""Runs programs under the library, for the tests.

    import under
    result = under.run([under.program("system/steps"), "keep_a:100:3"], {"RATE": "1", "OUT": path})
    result.returncode, result.stdout, result.stderr         of a program run to its end
    under.free_port()                                       of 127.0.0.1
    under.exact(profile)                                    (bytes, calls) of the profile's comment
    under.truth(result.stdout)                              {function: [numbers]} of its lines "truth FUNCTION N..."

The library is that of CPROF_LIB, or build/libcprof.so; its backend and the command are beside it.
"""
import glob
import os
import re
import socket
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LIBRARY = os.path.abspath(os.environ.get("CPROF_LIB") or os.path.join(ROOT, "build", "libcprof.so"))
BACKEND = os.path.join(os.path.dirname(LIBRARY), "libcprof-backend.so")
CPROF = os.path.join(os.path.dirname(LIBRARY), "cprof")
TIMEOUT = 120


def bail_out(why):
    print(f"Bail out! {why}")
    sys.exit(1)


if not os.path.exists(LIBRARY):
    bail_out(f"{LIBRARY} isn't there; run make")


def program(name):
    """Path of a program that was built from tests/NAME.c or .cc."""
    path = os.path.join(ROOT, "build", "tests", name)
    if not os.path.exists(path):
        bail_out(f"{path} isn't there; run make test-programs")
    return path


def environment(settings=None, preload=LIBRARY, extra=None):
    """This environment, with the settings {"RATE": "1", ...} and no others; no profile unless OUT is given. Names are
    left to be looked up by the test itself, so that nothing touches the profile once the program has ended."""
    clean = {name: value for name, value in os.environ.items()
             if not name.startswith("CPROF_") and name not in ("LD_PRELOAD", "LD_DEBUG")}
    if preload:
        clean["LD_PRELOAD"] = preload
        clean.update(CPROF_SYMBOLIZE="off", CPROF_OUT=os.devnull)
    clean.update({f"CPROF_{name}": value for name, value in (settings or {}).items()})
    clean.update(extra or {})
    return clean


def run(command, settings=None, preload=LIBRARY, extra=None, **options):
    options = {"capture_output": True, "text": True, "errors": "surrogateescape", "timeout": TIMEOUT, "check": False,
               **options}
    return subprocess.run(command, env=environment(settings, preload, extra), **options)


def plain(command, **options):
    """The same without the library."""
    return run(command, preload=None, **options)


def outcome(result):
    return result.returncode, result.stdout, result.stderr


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def exact(profile):
    found = re.search(r"exact alloc_space=(\d+) alloc_objects=(\d+)", " ".join(profile.comments))
    return tuple(int(number) for number in found.groups()) if found else None


def truth(output):
    lines = (line.split() for line in output.splitlines())
    return {fields[1]: [int(number) for number in fields[2:]] for fields in lines if fields and fields[0] == "truth"}


def segments(pid):
    """Files of shared memory that the process has, or has left."""
    return glob.glob(f"/dev/shm/cprof-*/{pid}-*.segment")


def check(files):
    """What `cprof check` has to say of them; empty if they are valid."""
    result = subprocess.run([CPROF, "check", *files], capture_output=True, text=True, timeout=TIMEOUT, check=False)
    return result.stderr if result.returncode else ""
