#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Profiles on the way: by a signal, every so many bytes or seconds, and of the moment with most in use."""
import os
import re
import signal
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
sys.dont_write_bytecode = True
import pprof  # noqa: E402
import tap  # noqa: E402
import under  # noqa: E402

STEPS = under.program("system/steps")


def run(what, steps, **settings):
    """{name: profile} of all that was written, in a run that ends well and says nothing."""
    with tempfile.TemporaryDirectory(prefix="cprof-dumps.") as directory:
        result = under.run([STEPS, *steps], {"RATE": "1", "OUT": f"{directory}/x.pb.gz", **settings})
        tap.equal(under.outcome(result), (0, "", ""), f"{what}: the program runs as ever")
        files = [os.path.join(directory, name) for name in sorted(os.listdir(directory))]
        tap.equal(under.check(files), "", f"{what}: profiles, all valid")
        return {os.path.basename(path): pprof.load(path) for path in files}


def kept(profiles):
    return {name: profile.flat("inuse_space")["keep_a"] for name, profile in profiles.items()}


def check_signal():
    for name in ("USR2", "SIGPROF", "RTMIN+2", str(int(signal.SIGUSR1))):
        number = 34 + 2 if name.startswith("RT") else int(name) if name.isdigit() \
            else signal.Signals["SIG" + name.removeprefix("SIG")]
        profiles = run(f"CPROF_SIGNAL={name}", ["keep_a:10:1", f"raise:{int(number)}", "keep_a:10:1",
                                                f"raise:{int(number)}", "keep_a:10:1"], SIGNAL=name)
        tap.equal(kept(profiles), {"x.1.pb.gz": 10, "x.2.pb.gz": 20, "x.pb.gz": 30},
                  f"CPROF_SIGNAL={name}: a profile each")
    profiles = run("no CPROF_SIGNAL", ["keep_a:10:1", f"raise:{int(signal.SIGWINCH)}"])
    tap.equal(kept(profiles), {"x.pb.gz": 10}, "no CPROF_SIGNAL: no signal is ours")


def check_bytes():
    profiles = run("CPROF_INTERVAL_BYTES=1M", ["keep_a:1024:10240"], INTERVAL_BYTES="1M")
    amounts = sorted(kept(profiles).values())
    tap.equal(amounts[-1], 10 << 20, "CPROF_INTERVAL_BYTES=1M: the last one has all 10 MiB")
    # It is looked at once in so many samples, and counted on from there.
    steps = [after - before for before, after in zip([0, *amounts], amounts[:-1])]
    tap.ok(all(1 << 20 <= step < (1 << 20) + (256 << 10) for step in steps), "one soon after each megabyte", steps)
    tap.ok(9 <= len(steps) <= 10, "nine or ten", steps)
    numbers = [f"x.{number}.pb.gz" for number in range(1, len(steps) + 1)]
    tap.equal(sorted(profiles), sorted([*numbers, "x.pb.gz"]), "numbered")


def check_time():
    steps = [step for _ in range(10) for step in ("sleep:100", "pass:100:500")]
    profiles = run("CPROF_INTERVAL=200ms", [*steps, "keep_a:10:1"], INTERVAL="200ms")
    tap.ok(3 <= len(profiles) <= 6, "CPROF_INTERVAL=200ms: about four in a second, and the last one", sorted(profiles))
    tap.equal(profiles["x.pb.gz"].flat("inuse_space")["keep_a"], 10, "the last one has all")
    profiles = run("CPROF_INTERVAL=1h", steps[:4], INTERVAL="1h")
    tap.equal(sorted(profiles), ["x.pb.gz"], "CPROF_INTERVAL=1h: only the last one")
    profiles = run("CPROF_INTERVAL=0", steps, INTERVAL="0")
    tap.equal(sorted(profiles), ["x.pb.gz"], "CPROF_INTERVAL=0: never")
    profiles = run("CPROF_INTERVAL=1", [*steps, "sleep:100", "keep_a:10:1"], INTERVAL="1")
    tap.ok(2 <= len(profiles) <= 3, "CPROF_INTERVAL=1: each second", sorted(profiles))


def check_time_of_slow_programs():
    """A program that allocates little has its profiles as often as asked, too, whatever the rate."""
    for rate, low in (("1", 8), ("524288", 3)):
        with tempfile.TemporaryDirectory(prefix="cprof-dumps.") as directory:
            began = time.monotonic()
            result = under.run([under.program("system/bounds"), "trickle", "3000"],
                               {"RATE": rate, "OUT": f"{directory}/x.pb.gz", "INTERVAL": "300ms", "SEED": "1"})
            intervals = (time.monotonic() - began) / 0.3
            what = f"5 kB a millisecond at rate {rate}, CPROF_INTERVAL=300ms"
            tap.equal(under.outcome(result), (0, "", ""), f"{what}: the program runs as ever")
            paths = [os.path.join(directory, name) for name in os.listdir(directory)]
            tap.equal(under.check(paths), "", f"{what}: profiles, all valid")
            # Of 28 samples at the default rate not each interval has one.
            tap.ok(low <= len(paths) - 1 <= intervals + 1, f"{what}: about as many as there were intervals",
                   len(paths) - 1, intervals)


def check_peak():
    steps = ["hold:1000:1000", "release", "hold:5000:1000", "release", "hold:300:1000", "keep_a:100:10"]
    profiles = run("CPROF_PEAK=1", steps, PEAK="1")
    tap.equal(sorted(profiles), ["x.pb.gz", "x.peak.pb.gz"], "CPROF_PEAK=1: a profile of the peak, too")
    peak, last = profiles["x.peak.pb.gz"], profiles["x.pb.gz"]
    tap.equal(peak.sample_types, last.sample_types, "with the same sample types")
    in_use = peak.flat("inuse_space")["hold"]
    tap.equal(in_use, 5000000, "what was in use at the peak, to the byte")
    tap.equal(last.flat("inuse_space")["hold"], 300000, "and in the other one what is at the end")
    tap.ok(re.search("at the peak", " ".join(peak.comments)) and not re.search("at the peak", " ".join(last.comments)),
           "the comment says so", peak.comments)
    for steps, wanted in ((["hold:100:3", "release"], 300), (["hold:1000:100", "release"], 100000),
                          (["hold:16:9999", "release"], 159984), (["hold:100000:800", "release"], 80000000),
                          (["hold:10:5"], 50), (["hold:100000:800"], 80000000), (["hold:100:40", "hold:1:3", "release"], 4003)):
        peak = run(f"the peak of {' '.join(steps)}", steps, PEAK="1")["x.peak.pb.gz"]
        tap.equal(peak.flat("inuse_space")["hold"], wanted, f"{' '.join(steps)}: to the byte")
    profiles = run("no CPROF_PEAK", ["hold:10:5"])
    tap.equal(sorted(profiles), ["x.pb.gz"], "no CPROF_PEAK: none")


check_signal()
check_bytes()
check_time()
check_time_of_slow_programs()
check_peak()
tap.done()
