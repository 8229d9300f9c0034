#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the library adds to the scope of the program it is loaded into: its hooks, cprof.h, and nothing else."""
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
sys.dont_write_bytecode = True
import tap  # noqa: E402
import under  # noqa: E402


def output(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def source(name):
    with open(os.path.join(under.ROOT, name), encoding="utf-8") as file:
        return re.sub(r"/\*.*?\*/", "", file.read(), flags=re.DOTALL)


def exported(path):
    lines = output("nm", "-D", "--defined-only", path).splitlines()
    return {line.split()[-1].split("@")[0] for line in lines}


def needed(path):
    return set(re.findall(r"\(NEEDED\).*\[(.*)\]", output("readelf", "-dW", path)))


hooks = set(re.findall(r"^(?:HOOK|NEW|DELETE)\((\w+)\)", source("preload/intercept/hooks.def"), re.MULTILINE))
api = set(re.findall(r"^\w[\w *]*?(cprof_\w+)\(", source("preload/cprof.h"), re.MULTILINE))
tap.ok(len(hooks) > 30 and "malloc" in hooks and "_Znwm" in hooks, "the list of hooks is read", hooks)
tap.equal(api, {"cprof_start", "cprof_stop", "cprof_dump", "cprof_get_stats"}, "cprof.h is read")

library = exported(under.LIBRARY)
tap.equal(sorted(hooks - library), [], "every hook is exported")
tap.equal(sorted(api - library), [], "all of cprof.h is exported")
tap.equal(sorted(library - hooks - api), [], "nothing else is exported")
tap.equal(needed(under.LIBRARY), {"libc.so.6"}, "needs libc and nothing else")

# The backend is opened for itself: its symbol is found by dlsym, and the shims by the libraries opened with it alone.
shims = set(re.findall(r"^SHIM\s+\w+\s+(\w+)\(", source("preload/backend/unwind.c"), re.MULTILINE))
tap.equal(exported(under.BACKEND), {"cprof_backend"} | shims, "the backend exports its one symbol, and its shims")
extra = {name for name in needed(under.BACKEND) if not re.match(r"lib(unwind-x86_64|protobuf-c|z|m|c)\.so\.", name)}
tap.equal(extra, set(), "the backend needs libunwind, protobuf-c, zlib and libc")

for path in (under.LIBRARY, under.BACKEND):
    name = os.path.basename(path)
    dynamic = output("readelf", "-dW", path)
    tap.ok("TEXTREL" not in dynamic, f"{name}: no text relocations", dynamic)
    headers = output("readelf", "-lW", path)
    tap.ok(not re.search(r"GNU_STACK.*RWE", headers), f"{name}: no executable stack", headers)
    tap.ok("GNU_RELRO" in headers and re.search(r"\bNOW\b", dynamic), f"{name}: bound at once, then read-only", dynamic)

# Static TLS is scarce: libraries that are opened later share what is left of a few hundred bytes.
headers = output("readelf", "-lW", under.LIBRARY)
tls = [int(size, 16) for size in re.findall(r"^\s*TLS(?:\s+0x\w+){4}\s+(0x\w+)", headers, re.MULTILINE)]
tap.ok(tls and sum(tls) <= 16, "at most 16 bytes of thread-local storage", tls)
tls = re.findall(r"^\s*TLS.*", output("readelf", "-lW", under.BACKEND), re.MULTILINE)
tap.equal(tls, [], "none in the backend")
tap.done()
