#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What is sampled in one process or thread says nothing of what is sampled in another that does the same.

Of 4,096 blocks of 64 bytes about a Poisson number with the mean 2^18 / rate = 0.5 is sampled. Of n children the sum has the
mean 0.5 n and the variance 0.5 n; the number of those with no sample is binomial with p = e^-0.5. If children drew the same
numbers as their siblings, the one would be a multiple of n and the other 0 or n."""
import math
import os
import re
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
sys.dont_write_bytecode = True
import pprof  # noqa: E402
import tap  # noqa: E402
import under  # noqa: E402

SIBLINGS = under.program("accuracy/siblings")
N = 200
ERRORS = 5


def samples(profile):
    return int(re.search(r"from (\d+) samples", " ".join(profile.comments)).group(1))


def near(what, got, mean, variance):
    error = math.sqrt(variance)
    tap.ok(abs(got - mean) <= ERRORS * error, f"{what}: {got}, should be {mean:.0f} +-{error:.0f}")


def check(what, **settings):
    with tempfile.TemporaryDirectory(prefix="cprof-siblings.") as directory:
        result = under.run([SIBLINGS, what, str(N)], {"OUT": os.path.join(directory, "%p.pb.gz"), **settings})
        tap.equal((result.returncode, result.stderr), (0, ""), f"{what}: they run")
        counts = [samples(pprof.load(os.path.join(directory, name))) for name in os.listdir(directory)]
    title = f"{N} by {what}{', with a seed' if settings else ''}"
    near(f"{title}: samples", sum(counts), 0.5 * N, 0.5 * N)
    if what == "threads":
        return
    tap.equal(len(counts), N + 1, f"{title}: each has its profile")
    p = math.exp(-0.5)
    near(f"{title}: processes without a sample", counts.count(0) - 1, N * p, N * p * (1 - p))  # the parent is one, too


for way in ("fork", "nested", "threads"):
    check(way)
check("fork", SEED="1")
tap.done()
