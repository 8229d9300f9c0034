#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Eight threads at every function of the malloc family, freeing each other's blocks. At rate 1 the profile equals
the program's own count to the byte; at any rate the totals do, and the estimates are as near as they claim.

    HAMMER_SECONDS=30   how long each of the runs hammers; 3"""
import os
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
sys.dont_write_bytecode = True
import hammered  # noqa: E402
import pprof  # noqa: E402
import tap  # noqa: E402
import under  # noqa: E402

SECONDS = os.environ.get("HAMMER_SECONDS", "3")
THREADS = 8

with tempfile.TemporaryDirectory(prefix="cprof-hammer.") as directory:
    for rate in ("1", "4096", "512K"):
        path = os.path.join(directory, f"{rate}.pb.gz")
        result = under.run([under.program("system/hammer"), SECONDS, str(THREADS)], {"RATE": rate, "OUT": path})
        if not tap.equal((result.returncode, result.stderr), (0, ""), f"rate {rate}: {THREADS} threads, {SECONDS} s"):
            tap.diagnose(result.stdout)
            continue
        truth = hammered.numbers("did", result.stdout)
        profile = pprof.load(path)
        tap.diagnose(f"rate {rate}: {truth[1]} blocks")
        tap.ok(truth[1] > 10000, f"rate {rate}: much was done", truth)
        tap.equal(under.check([path]), "", f"rate {rate}: the profile is valid")
        tap.equal(hammered.numbers("counted", result.stdout), truth[:2], f"rate {rate}: bytes and calls are counted exactly")
        tap.equal(list(under.exact(profile)), hammered.numbers("total", result.stdout), f"rate {rate}: and so they are written")
        if rate == "1":
            tap.equal(hammered.figures(profile), truth, "rate 1: the profile is exact")
            tap.equal([profile.total("alloc_space"), profile.total("alloc_objects")], list(under.exact(profile)),
                      "rate 1: of everything")
            continue
        tap.equal(hammered.far_off(profile), "", f"rate {rate}: estimates are within {hammered.SIGMAS} standard errors")
        tap.ok(hammered.figures(profile)[2] <= profile.total("alloc_space"), f"rate {rate}: in use is part of it")
tap.done()
