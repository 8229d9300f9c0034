#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures the cases of the matrix and puts the table of ratios into README.md: `make programs-table`.

    tests/programs/table.py [FAMILY|CASE...]      default: all; with names, the table goes to stdout
    ROUNDS=1                                      runs of each, 3 by default: medians are shown
"""
import datetime
import os
import platform
import re
import statistics
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True
import matrix  # noqa: E402
import live  # noqa: E402
import run  # noqa: E402

ROUNDS = int(os.environ.get("ROUNDS", "3"))
README = os.path.join(os.path.dirname(os.path.abspath(__file__)), "README.md")
BEGIN, END = "<!-- written by table.py -->\n", "<!-- until here -->\n"
WAYS = (matrix.PLAIN, matrix.DEFAULT, matrix.RATE_1)


def measure(case):
    """[(seconds of processor time, MiB)] for each way: medians of rounds that take turns; None if it does not run."""
    figures = [[] for _ in WAYS]
    with matrix.Bench(case) as bench:
        for _ in range(ROUNDS):
            for way, taken in zip(WAYS, figures):
                result = bench.run(way)
                if result.status != case.status:
                    return None
                taken.append((result.cpu, result.peak / 1024))
    return [tuple(statistics.median(column) for column in zip(*taken)) for taken in figures]


def row(case):
    missing = case.missing()
    figures = None if missing else measure(case)
    if not figures:
        why = f"not installed: {' '.join(missing)}" if missing else "did not run as it should"
        return f"| {case.name} | {why} | | | | | |"
    (cpu, peak), *others = figures
    cells = "".join(f" {more_cpu / cpu:.2f} | {more_peak / peak:.2f} |" for more_cpu, more_peak in others)
    return f"| {case.name} | {cpu:.2f} | {peak:.0f} |{cells}"


def processor():
    with open("/proc/cpuinfo", encoding="ascii", errors="replace") as file:
        return (re.findall(r"^model name\s*: (.*)", file.read(), re.MULTILINE) or ["unknown"])[0]


def write(rows):
    text = (f"Of {datetime.date.today()}: {os.cpu_count()} processors, {processor()}, Linux {platform.release()}; medians of {ROUNDS} "
            f"runs that took turns.\n\n"
            "| program | s | MiB | default: time | memory | rate 1: time | memory |\n|---|---|---|---|---|---|---|\n"
            + "".join(f"{line}\n" for line in rows))
    with open(README, encoding="utf-8") as file:
        before, _, rest = file.read().partition(BEGIN)
    with open(README, "w", encoding="utf-8") as file:
        file.write(before + BEGIN + text + END + rest.partition(END)[2])


def main(words):
    if not live.private_shm("4G"):
        sys.exit("table.py: a /dev/shm of its own can't be mounted here")
    live.adopt_orphans()
    rows = []
    for case in run.chosen(words) if words else run.every():
        rows.append(row(case))
        print(rows[-1], flush=True)
        if not words:
            write(rows)


if __name__ == "__main__":
    main(sys.argv[1:])
