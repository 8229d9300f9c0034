#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Profiles while the program goes on: by a signal, every so many seconds or bytes, by cprof_dump. Each has its number
and is whole, and at the end comes the last one, as ever."""
import os
import re
import signal
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
sys.dont_write_bytecode = True
import live  # noqa: E402
import tap  # noqa: E402
import under  # noqa: E402

TRIGGERS = under.program("live/triggers")


def dumps_of(place, what, arguments, rate="1", **settings):
    """Runs it; returns the paths of its dumps and what it printed, having looked at all that always holds."""
    result = under.run([TRIGGERS, *arguments], {"RATE": rate, "OUT": place.file("x.pb.gz"), **settings})
    tap.equal((result.returncode, result.stderr), (0, ""), f"{what}: the program runs as ever")
    numbers = sorted(int(found[1]) for name in place.files() if (found := re.fullmatch(r"x\.(\d+)\.pb\.gz", name)))
    paths = [place.file(f"x.{number}.pb.gz") for number in numbers]
    tap.equal((numbers, len(place.files())), (list(range(1, len(numbers) + 1)), len(numbers) + 1),
              f"{what}: numbered without gaps, the last one plain, nothing else")
    tap.equal(under.check([*paths, place.file("x.pb.gz")]), "", f"{what}: all are valid")
    objects = [live.totals(path)["alloc_objects"] for path in [*paths, place.file("x.pb.gz")]]
    tap.equal(objects, sorted(objects), f"{what}: none shows less than the one before")
    return paths, result.stdout


def check_signals():
    for mode, name, number in (("raise", "USR2", signal.SIGUSR2), ("raise", "SIGPROF", signal.SIGPROF),
                               ("raise", str(signal.SIGRTMIN + 2), signal.SIGRTMIN + 2),
                               ("stack", "USR2", signal.SIGUSR2)):
        with live.Place() as place:
            paths, _ = dumps_of(place, f"{mode} {name}", [mode, "5", str(int(number))], SIGNAL=name)
            found = [live.figures(path, "step")["step"] for path in paths]
            wanted = [(100 * i, 1000 * i) * 2 for i in range(1, 6)]
            tap.equal(found, wanted, f"{mode} {name}: each as of its moment, to the byte")
    with live.Place() as place:
        paths, _ = dumps_of(place, "a signal while threads allocate", ["threads", "20", str(int(signal.SIGUSR2))],
                            SIGNAL="USR2")
        tap.ok(1 <= len(paths) <= 20, "a signal while threads allocate: some at least", len(paths))


def check_calls():
    with live.Place() as place:
        paths, _ = dumps_of(place, "cprof_dump", ["calls", "5"])
        found = [live.figures(path, "step")["step"] for path in paths]
        tap.equal(found, [(100 * i, 1000 * i) * 2 for i in range(1, 6)],
                  "cprof_dump: each as of its moment, to the byte")
    with live.Place() as place:
        paths, output = dumps_of(place, "cprof_dump in eight threads", ["beside", "10"])
        tap.ok(1 <= len(paths) <= 80 and int(output) == len(paths), "one file for each that was done", output,
               len(paths))


def check_bytes():
    # 64 MiB, a dump every 8: the clock is looked at every now and then, so the moments are near, and none is left out.
    for rate in ("1", "4096"):
        with live.Place() as place:
            paths, _ = dumps_of(place, f"every 8M at rate {rate}", ["bytes", "64"], rate, INTERVAL_BYTES="8M")
            tap.ok(7 <= len(paths) <= 8, f"every 8M at rate {rate}: of 64M", len(paths))


def check_time():
    with live.Place() as place:
        paths, _ = dumps_of(place, "every 100ms", ["time", "100"], "64", INTERVAL="100ms")
        tap.ok(3 <= len(paths) <= 11, "every 100ms of a second", len(paths))


check_signals()
check_calls()
check_bytes()
check_time()
tap.done()
