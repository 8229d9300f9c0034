#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Eight threads at every function of the malloc family, freeing each other's blocks. At rate 1 the profile equals
the program's own count to the byte; at any rate the totals do, and the estimates are as near as they claim.

    HAMMER_SECONDS=30   how long each of the runs hammers; 3"""
import os
import re
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
sys.dont_write_bytecode = True
import pprof  # noqa: E402
import tap  # noqa: E402
import under  # noqa: E402

SECONDS = os.environ.get("HAMMER_SECONDS", "3")
THREADS = 8
TYPES = ("alloc_space", "alloc_objects", "inuse_space", "inuse_objects")
SIGMAS = 5


def numbers(name, output):
    (line,) = (line.split() for line in output.splitlines() if line.split()[:1] == [name])
    return [int(field) for field in line[1:]]


def hammered(profile, sample_type):
    return sum(value for name, value in profile.flat(sample_type).items() if name.startswith("hammer_"))


def errors(profile):
    """{type: one standard error} as the comment has it."""
    found = re.search(r"estimated alloc_space=(\d+) ±([\d.]+)% alloc_objects=(\d+) ±([\d.]+)%",
                      " ".join(profile.comments))
    space, space_error, objects, objects_error = (float(number) for number in found.groups())
    # The figure is rounded to a tenth of a per cent.
    return {"alloc_space": space * (space_error + 0.05) / 100, "alloc_objects": objects * (objects_error + 0.05) / 100}


with tempfile.TemporaryDirectory(prefix="cprof-hammer.") as directory:
    for rate in ("1", "4096", "512K"):
        path = os.path.join(directory, f"{rate}.pb.gz")
        result = under.run([under.program("system/hammer"), SECONDS, str(THREADS)], {"RATE": rate, "OUT": path})
        if not tap.equal((result.returncode, result.stderr), (0, ""), f"rate {rate}: {THREADS} threads, {SECONDS} s"):
            tap.diagnose(result.stdout)
            continue
        truth = numbers("did", result.stdout)
        profile = pprof.load(path)
        tap.diagnose(f"rate {rate}: {truth[1]} blocks")
        tap.ok(truth[1] > 10000, f"rate {rate}: much was done", truth)
        tap.equal(under.check([path]), "", f"rate {rate}: the profile is valid")
        tap.equal(numbers("counted", result.stdout), truth[:2], f"rate {rate}: bytes and calls are counted exactly")
        tap.equal(list(under.exact(profile)), numbers("total", result.stdout), f"rate {rate}: and so they are written")
        if rate == "1":
            tap.equal([hammered(profile, sample_type) for sample_type in TYPES], truth, "rate 1: the profile is exact")
            tap.equal([profile.total("alloc_space"), profile.total("alloc_objects")], list(under.exact(profile)),
                      "rate 1: of everything")
            continue
        for sample_type, error in errors(profile).items():
            wanted = dict(zip(("alloc_space", "alloc_objects"), under.exact(profile)))[sample_type]
            off = abs(profile.total(sample_type) - wanted)
            tap.ok(off <= SIGMAS * error, f"rate {rate}: {sample_type} is within {SIGMAS} standard errors",
                   f"{profile.total(sample_type)}, is {wanted}, one standard error {error:.0f}")
        tap.ok(hammered(profile, "inuse_space") <= profile.total("alloc_space"), f"rate {rate}: in use is part of it")
tap.done()
