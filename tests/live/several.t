#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""cprof recover of several processes at once: whatever is taken away has its profile, under a name of its own."""
import os
import signal
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
sys.dont_write_bytecode = True
import live  # noqa: E402
import tap  # noqa: E402
import under  # noqa: E402

STEPS = under.program("system/steps")
USAGE = 2

if not live.private_shm("1G"):
    tap.skip_all("a /dev/shm of its own can't be mounted here")


def killed(place, blocks, **settings):
    """The number of a process that was killed when it had kept so many blocks of 100 bytes, and had more in use before."""
    process = place.start([STEPS, f"keep_a:100:{blocks}", "hold:1000:500", "release", f"raise:{int(signal.SIGKILL)}"], **settings)
    process.wait()
    return process.pid


def kept(path):
    return live.figures(path, "keep_a")["keep_a"][0]


def recovered(place, *arguments):
    """The command's outcome, and {name: blocks kept} of the profiles that it names."""
    result = live.cprof("recover", *arguments, cwd=place.path)
    return (result.returncode, result.stderr), {name: kept(place.file(name)) for name in result.stdout.split()}


def check_file():
    """One name for several: what is there already is replaced once, and by the first."""
    for every in (False, True):
        with live.Place() as place:
            pids = [killed(place, blocks) for blocks in (10, 20, 30)]
            with open(place.file("two.pb.gz"), "wb") as file:
                file.write(b"old")
            outcome, made = recovered(place, "-o", "two.pb.gz", *(["--all"] if every else pids))
            what = "recover --all -o FILE" if every else "recover -o FILE PID PID PID"
            tap.equal(outcome, (0, ""), f"{what}: done")
            tap.equal(made, {"two.pb.gz": 10, "two.2.pb.gz": 20, "two.3.pb.gz": 30}, f"{what}: each has a name")
            tap.equal(live.segments(), [], f"{what}: nothing is left")
    with live.Place() as place:
        for blocks in (10, 20):
            killed(place, blocks, PEAK="1")
        outcome, made = recovered(place, "--all", "-o", "x.pb.gz")
        tap.equal((outcome, sorted(made)), ((0, ""), ["x.2.pb.gz", "x.pb.gz", "x.peak.2.pb.gz", "x.peak.pb.gz"]),
                  "with peaks: these as well")


def refused(place, what, count, *arguments, **options):
    before = live.segments()
    result = live.cprof("recover", *arguments, cwd=place.path, **options)
    output = arguments[arguments.index("-o") + 1]
    tap.equal((result.returncode, result.stdout, result.stderr),
              (USAGE, "", f"cprof: {output}: takes one profile, and there are {count}; name a directory or a file with -o\n"),
              f"{what}: refused")
    tap.equal(live.segments(), before, f"{what}: nothing is taken away")


def check_stream():
    with live.Place() as place:
        pids = [killed(place, blocks) for blocks in (10, 20)]
        segments = live.segments()
        refused(place, "recover --all -o -", 2, "--all", "-o", "-")
        refused(place, "recover -o - PID PID", 2, "-o", "-", *pids)
        refused(place, "recover -o - FILE FILE", 2, "-o", "-", *segments)
        refused(place, "recover --keep --all -o -", 2, "--keep", "--all", "-o", "-")
        refused(place, "recover --all -o DEVICE", 2, "--all", "-o", "/dev/null")
        with open(place.file("one.pb.gz"), "wb") as file:
            result = live.cprof("recover", "-o", "-", pids[0], stdout=file, stderr=None, capture_output=False)
        tap.equal((result.returncode, kept(place.file("one.pb.gz"))), (0, 10), "one of them goes to standard output")
        tap.equal(live.segments_of(pids[1]), segments[1:], "and the other is left")
        result = live.cprof("recover", "--discard", "-o", "-", "--all")
        tap.equal((result.returncode, live.segments()), (0, []), "--discard makes none, so there is nothing to refuse")
    with live.Place() as place:
        pid = killed(place, 10, PEAK="1")
        refused(place, "with a peak: recover -o - PID", 2, "-o", "-", pid)
        with open(place.file("one.pb.gz"), "wb") as file:
            result = live.cprof("recover", "--keep", "-o", "-", pid, stdout=file, stderr=None, capture_output=False)
        tap.equal((result.returncode, kept(place.file("one.pb.gz")), len(live.segments())), (0, 10, 1),
                  "with --keep it is made without the peak's, for which all is there")


check_file()
check_stream()
tap.done()
