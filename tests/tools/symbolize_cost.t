#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a program waits for at its end: `cprof symbolize`, in instructions, where libc has a debug file; and that what makes
it short loses no name."""
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
sys.dont_write_bytecode = True
import pprof  # noqa: E402
import tap  # noqa: E402
import under  # noqa: E402

# Measured were 109 million, and 258 when libelf inflated all sections of libc's debug file by zlib.
BUDGET = 150e6
CALLGRIND = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"]

if not shutil.which("valgrind"):
    tap.skip_all("valgrind is not installed")


def symbolize(source, to, command=(), **options):
    environment = under.environment(preload=None, extra={"DEBUGINFOD_URLS": ""})
    return subprocess.run([*command, under.CPROF, "symbolize", "-o", to, source], env=environment, capture_output=True,
                          text=True, timeout=under.TIMEOUT, check=False, **options)


def loads_client(source, servers):
    """Whether libdebuginfod, which brings libcurl and many others, is loaded for it."""
    environment = under.environment(preload=None, extra={"DEBUGINFOD_URLS": servers, "LD_DEBUG": "files"})
    result = subprocess.run([under.CPROF, "symbolize", "-q", "-o", os.devnull, source], env=environment,
                            capture_output=True, text=True, timeout=under.TIMEOUT, check=False)
    return "libdebuginfod" in result.stderr


def check_stripped(place):
    """A program without symbols and without a debug file."""
    program, raw = os.path.join(place, "stripped"), os.path.join(place, "stripped.pb.gz")
    subprocess.run(["strip", "-o", program, under.program("system/steps")], check=True)
    under.run([program, "keep_a:100:10"], {"RATE": "1", "OUT": raw})
    tap.ok(not loads_client(raw, ""), "without a server to ask for debug files its client is not loaded")
    if loads_client(raw, "http://127.0.0.1:9/"):
        tap.ok(True, "with one it is")
    else:
        tap.skip("with one it is", "libdebuginfod is not installed")


def allow_no_large_files():
    """Then there can be no copy of the debug file in memory."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))


def build_id_of_libc(profile):
    for mapping in profile.mappings:
        if "/libc.so" in mapping.path or "/libc-" in mapping.path:
            return mapping.build_id
    return ""


with tempfile.TemporaryDirectory(prefix="cprof-cost.") as place:
    raw, named, other = (os.path.join(place, f"{name}.pb.gz") for name in ("raw", "named", "other"))
    under.run([under.program("system/steps"), "keep_a:100:10"], {"RATE": "1", "OUT": raw})
    identity = build_id_of_libc(pprof.load(raw))
    debug = f"/usr/lib/debug/.build-id/{identity[:2]}/{identity[2:]}.debug"
    if not os.path.exists(debug):
        tap.skip_all("libc's debug file (libc6-dbg) is not installed")
    result = symbolize(raw, named, CALLGRIND)
    found = re.search(r"I +refs: +([\d,]+)", result.stderr)
    count = int(found.group(1).replace(",", "")) if found else 0
    tap.ok(0 < count < BUDGET, f"a small program's profile gets its names in less than {BUDGET / 1e6:.0f} million instructions",
           count, result.stderr)
    tap.diagnose(f"{count / 1e6:.1f} million instructions")
    limited = symbolize(raw, other, preexec_fn=allow_no_large_files)
    tap.equal((limited.returncode, limited.stderr), (0, ""), "where no large file may be made: done as well")
    with open(named, "rb") as file, open(other, "rb") as without:
        tap.ok(file.read() == without.read(), "the names are the same")
    lines = {frame.name: frame for sample in pprof.load(named, symbolize=False).samples for frame in sample.frames}
    tap.ok("__libc_start_call_main" in lines and lines["__libc_start_call_main"].line > 0,
           "and libc's functions have lines", sorted(lines))
    check_stripped(place)
tap.done()
