#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A program whose file was deleted or replaced while it runs: its names are those of what runs, as long as it does."""
import os
import re
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
sys.dont_write_bytecode = True
import live  # noqa: E402
import pprof  # noqa: E402
import server  # noqa: E402
import tap  # noqa: E402
import under  # noqa: E402

STILL = under.program("live/still")
OTHER = under.program("system/steps")

if not live.private_shm("1G"):
    tap.skip_all("a /dev/shm of its own can't be mounted here")


def is_named(path):
    return any("keep" in sample.stack for sample in pprof.load(path, symbolize=False).samples)


def check(what, change):
    with live.Place() as place:
        program = place.file("still")
        shutil.copy(STILL, program)
        process = place.start([program, "sleep"], SYMBOLIZE="on")
        change(program)
        found = {}
        with server.Server("--pid", str(process.pid)) as served:
            found["serve"] = b"keep" in served.get("/debug/pprof/heap?debug=1").body
        live.cprof("dump", "-o", place.file("dump.pb.gz"), process.pid)
        found["dump"] = is_named(place.file("dump.pb.gz"))
        found["top"] = bool(re.search(r"\bkeep\b", live.cprof("top", "--once", process.pid).stdout))
        process.communicate("\n", timeout=under.TIMEOUT)
        found["the end"] = is_named(place.out(process.pid))
        tap.equal(found, dict.fromkeys(found, True), f"{what}: the program has its names")


def replace(program):
    shutil.copy(OTHER, program + ".new")
    os.rename(program + ".new", program)


check("deleted", os.remove)
check("replaced", replace)
check("moved away", lambda program: os.rename(program, program + ".old"))
tap.done()
