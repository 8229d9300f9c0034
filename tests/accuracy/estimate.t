#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Sampled figures are unbiased, and spread as theory says, no less and no more.

A block of s bytes is sampled with p = 1 - exp(-s / rate), independently of all others, and then stands for 1/p blocks
of s bytes. So an estimated sum of x over all blocks (x = 1 for objects, s for bytes) has the true sum as its mean and

    variance         V = sum of x^2 (1 - p) / p
    fourth cumulant  K = sum of (x/p)^4 p (1 - p) (1 - 6 p (1 - p))

Of n independent runs the mean has the standard error sqrt(V / n). Their sample variance has the mean V and the
standard error sqrt(K / n + 2 V^2 / (n - 1)). Each function's figures are held to both, at several rates.

Each run has a seed of its own, 1 to n, so the outcome is the same each time."""
import collections
import concurrent.futures
import math
import os
import re
import statistics
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
sys.dont_write_bytecode = True
import pprof  # noqa: E402
import tap  # noqa: E402
import under  # noqa: E402

MIX = under.program("accuracy/mix")
RATES = (("512K", 524288), ("64K", 65536), ("4K", 4096))
RUNS = 200
MEAN_ERRORS = 4
SPREAD_ERRORS = 5  # the distribution of a sample variance has a longer tail
ROUNDING = 0.6  # figures are integers, each within half of what it should be, and a carry
TYPES = ("alloc_space", "alloc_objects", "inuse_space")

Theory = collections.namedtuple("Theory", "truth variance fourth")


def read_mix():
    """{function: [(size, blocks, kept)]}, and what the program does besides, as (bytes, blocks)."""
    with tempfile.TemporaryDirectory(prefix="cprof-estimate.") as directory:
        path = os.path.join(directory, "exact.pb.gz")
        result = under.run([MIX, "--tell"], {"RATE": "1", "OUT": path})
        sites = collections.defaultdict(list)
        for line in result.stdout.splitlines():
            _, function, *numbers = line.split()
            sites[function].append(tuple(int(number) for number in numbers))
        under.run([MIX], {"RATE": "1", "OUT": path})
        profile = pprof.load(path)
        for function, blocks in sites.items():
            wanted = [sum(size * n for size, n, _ in blocks), sum(n for _, n, _ in blocks),
                      sum(size * kept for size, _, kept in blocks)]
            got = [profile.flat(sample_type)[function] for sample_type in TYPES]
            tap.equal(got, wanted, f"rate 1: {function} is exact")
        return dict(sites), under.exact(profile)


def theory(blocks, rate, sample_type):
    truth = variance = fourth = 0
    for size, allocated, kept in blocks:
        n = kept if sample_type == "inuse_space" else allocated
        x = 1 if sample_type == "alloc_objects" else size
        p = -math.expm1(-size / rate)
        q = math.exp(-size / rate)
        truth += n * x
        variance += n * x**2 * q / p
        fourth += n * (x / p) ** 4 * p * q * (1 - 6 * p * q)
    return Theory(truth, variance, fourth)


def one_run(setting, seed, directory):
    """({type: {function: value}}, exact totals, how many of the claimed standard errors the total is off)"""
    path = os.path.join(directory, f"{setting}.{seed}.pb.gz")
    result = under.run([MIX], {"RATE": setting, "SEED": str(seed), "OUT": path})
    if result.returncode or result.stderr:
        raise RuntimeError(f"seed {seed}: {under.outcome(result)}")
    profile = pprof.load(path)
    os.remove(path)
    exact = under.exact(profile)
    claimed = float(re.search(r"estimated alloc_space=\d+ ±([\d.]+)%", " ".join(profile.comments))[1]) / 100
    estimate = profile.total("alloc_space")
    return ({sample_type: profile.flat(sample_type) for sample_type in TYPES}, exact,
            abs(estimate - exact[0]) / (claimed * estimate))


def check_mean(what, values, expected):
    mean = statistics.fmean(values)
    error = math.sqrt(expected.variance / len(values))
    off = mean - expected.truth
    text = f"{what}: mean {mean:.0f}, is {expected.truth}, standard error {error:.1f}"
    tap.ok(abs(off) <= MEAN_ERRORS * error + ROUNDING,
           f"{text}: off by {off / error if error > 1e-6 else 0:+.2f} of it")


def check_spread(what, values, expected):
    """Only where there is a spread worth the name: rounding adds a little of its own."""
    if expected.variance < 100:
        return
    n = len(values)
    ratio = statistics.variance(values) / expected.variance
    error = math.sqrt(expected.fourth / n + 2 * expected.variance**2 / (n - 1)) / expected.variance
    text = f"{what}: variance of a run {ratio:.3f} of what theory says, +-{error:.3f}"
    tap.ok(abs(ratio - 1) <= SPREAD_ERRORS * error, text)


def check_claims(setting, offs):
    """Each profile says how far off it may be: in a normal distribution 68 % are within one standard error, 95 % within
    two. Of n runs these shares have the standard error sqrt(share (1 - share) / n)."""
    for errors, share in ((1, 0.683), (2, 0.954)):
        within = sum(off <= errors for off in offs) / len(offs)
        error = math.sqrt(share * (1 - share) / len(offs))
        text = f"rate {setting}: {within:.1%} of the profiles are within {errors} of their own standard errors"
        tap.ok(abs(within - share) <= MEAN_ERRORS * error, f"{text}, should be {share:.1%} +-{error:.1%}")


def check_rate(setting, rate, sites, totals, directory):
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        runs = list(pool.map(lambda seed: one_run(setting, seed, directory), range(1, RUNS + 1)))
    tap.equal({exact for _, exact, _ in runs}, {totals},
              f"rate {setting}: the exact totals are exact in each of {RUNS} runs")
    check_claims(setting, [off for _, _, off in runs])
    for function, blocks in sites.items():
        for sample_type in TYPES:
            values = [flat[sample_type][function] for flat, _, _ in runs]
            expected = theory(blocks, rate, sample_type)
            what = f"rate {setting}, {function} {sample_type}"
            if expected.truth == 0:
                tap.equal(set(values), {0}, f"{what}: never anything")
                continue
            check_mean(what, values, expected)
            check_spread(what, values, expected)


def check_few():
    """A large block, which is sampled for sure, hides small ones of which mostly none is: the profile's own figures must
    show how little is known of their number."""
    with tempfile.TemporaryDirectory(prefix="cprof-estimate.") as directory:
        path, far, none = os.path.join(directory, "few.pb.gz"), [], 0
        for seed in range(1, 41):
            under.run([under.program("system/steps"), "keep_a:104857600:1", "keep_b:16:10000"],
                      {"RATE": "512K", "SEED": str(seed), "OUT": path})
            profile = pprof.load(path)
            claimed = float(re.search(r" alloc_objects=\d+ ±([\d.]+)%", " ".join(profile.comments))[1]) / 100
            estimate, (_, exact) = profile.total("alloc_objects"), under.exact(profile)
            none += estimate < 10
            if abs(estimate - exact) > 3 * claimed * estimate:
                far.append(f"seed {seed}: {estimate} +-{claimed:.0%}, were {exact}")
        tap.ok(none > 10, f"few samples: no small block was sampled in {none} of 40 runs")
        tap.ok(not far, "few samples: the number of blocks is within three standard errors in each run", *far)


def main():
    check_few()
    sites, totals = read_mix()
    with tempfile.TemporaryDirectory(prefix="cprof-estimate.") as directory:
        for setting, rate in RATES:
            check_rate(setting, rate, sites, totals, directory)
    tap.done()


if __name__ == "__main__":
    main()
