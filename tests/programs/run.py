#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs cases of the matrix, as a test: without the library (twice, to see what differs anyway), recording everything, at
the default rate, and both again with the witness behind the library.

    tests/programs/run.py FAMILY|CASE...      all of a family, or those of a name
    tests/programs/run.py --quick             those of `make check`, without a witness
"""
import importlib
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True
import judge  # noqa: E402
import matrix  # noqa: E402
import live  # noqa: E402
import tap  # noqa: E402

FAMILIES = ("build", "databases", "documents", "files", "interpreters", "media", "runtimes", "servers", "system", "text")


def cases(family):
    return importlib.import_module(f"cases_{family}").CASES


def every():
    return [case for family in FAMILIES for case in cases(family)]


def chosen(words):
    if words == ["--quick"]:
        return [case for case in every() if case.quick]
    found = []
    for word in words:
        matching = cases(word) if word in FAMILIES else [case for case in every() if case.name == word]
        if not matching:
            sys.exit(f"run.py: no family and no case is called {word}; families are {', '.join(FAMILIES)}")
        found += matching
    return found


def test(case, quick):
    missing = case.missing()
    if missing:
        tap.skip(case.name, f"not installed: {' '.join(missing)}")
        return
    with matrix.Bench(case) as bench:
        plain = bench.run(matrix.PLAIN)
        if not tap.ok(plain.status == case.status, f"{case.name}: runs without the library",
                      f"status {plain.status}", plain.output[-2000:], plain.errors[-2000:]):
            return
        if not quick:
            again = bench.run(matrix.PLAIN)
            judge.behaves(case, again, plain.outcome())
        seen, took = [], [f"{plain.wall:.2f}"]
        for way in (matrix.RATE_1, matrix.DEFAULT) + (() if quick else (matrix.WITNESSED, matrix.WITNESSED_DEFAULT)):
            run = bench.run(way)
            took.append(f"{run.wall:.2f}")
            judge.behaves(case, run, plain.outcome())
            if not judge.profiled(case, run):
                continue
            sums = judge.totals(run)
            judge.adds_up(case, run, sums)
            if way.witnessed:
                judge.witnessed(case, run, sums)
            seen.append(judge.figures(case, sums))
        print(f"# {case.name}: seconds without the library, recording everything, at the default rate: {', '.join(took[:3])}")
        if case.steady and not quick:
            tap.ok(all(figures == seen[0] for figures in seen), f"{case.name}: allocates the same in each run", *seen)


def main(words):
    if not words:
        sys.exit("usage: run.py --quick | FAMILY|CASE...")
    if not live.private_shm("4G"):
        tap.skip_all("a /dev/shm of its own can't be mounted here")
    live.adopt_orphans()
    for case in chosen(words):
        test(case, words == ["--quick"])
    tap.done()


if __name__ == "__main__":
    main(sys.argv[1:])
