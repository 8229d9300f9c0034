#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Programs that profilers of this kind crashed, hanged, changed or misreported, and what is right for each.

    tests/corpus/corpus.t [PART OF A NAME...]     all cases, or those whose names hold one of the words

    CPROF_LIB        the library, build/libcprof.so by default; `cprof` and what is built here stand beside it
    CORPUS_MODES     comma-separated: plain, rate 1, default rate, frame pointers; all but plain by default
    CORPUS_REPEAT    how often a case whose fault would depend on timing is run, 1 by default
    CORPUS_JOBS      cases at a time, 2 by default
    CORPUS_SEED      of the sampling at the default rate, 1 by default

A case is a source file in a folder beside this file; README.md says how to read and write one.
"""
import concurrent.futures
import glob
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(ROOT, "tests", "lib"))
sys.path.insert(0, HERE)
import tap  # noqa: E402
from case import MODES, Case, Outcome  # noqa: E402

LIBRARY = os.path.realpath(os.environ.get("CPROF_LIB") or os.path.join(ROOT, "build", "libcprof.so"))
FOLDER = os.path.join(os.path.dirname(LIBRARY), "tests", "corpus")
CHECKER = os.path.join(os.path.dirname(LIBRARY), "cprof")
REPEAT = int(os.environ.get("CORPUS_REPEAT", "1"))
JOBS = int(os.environ.get("CORPUS_JOBS", "2"))


def modes():
    wanted = os.environ.get("CORPUS_MODES", "rate 1,default rate,frame pointers").split(",")
    unknown = set(wanted) - set(MODES)
    if unknown:
        sys.exit(f"CORPUS_MODES: {', '.join(sorted(unknown))} is none of {', '.join(MODES)}")
    return wanted


def do(path, wanted):
    """All runs of one case: [(mode, outcome)]."""
    case = Case(path)
    missing = case.missing()
    if missing:
        return [(mode, Outcome(missing, [])) for mode in wanted]
    failed = case.build(FOLDER)
    if failed:
        return [(mode, Outcome(None, [f"not built: {failed}"])) for mode in wanted]
    results = []
    for mode in wanted:
        for _ in range(REPEAT if case.expect["timing"] else 1):
            outcome = case.run(FOLDER, mode, LIBRARY, CHECKER)
            if outcome.skip or outcome.faults:
                break
        results.append((mode, outcome))
    return results


def main(words):
    paths = sorted(path for end in ("c", "cc", "sh") for path in glob.glob(os.path.join(HERE, "*", f"*.{end}")))
    paths = [path for path in paths if not words or any(word in path[len(HERE) :] for word in words)]
    wanted = modes()
    for needed in (LIBRARY, CHECKER):
        if not os.path.exists(needed):
            tap.skip_all(f"{needed} is not built")
    with concurrent.futures.ProcessPoolExecutor(JOBS) as pool:
        # What takes longest first would be quicker still; in order it is easier to follow.
        for path, results in zip(paths, pool.map(do, paths, [wanted] * len(paths))):
            name = os.path.splitext(os.path.relpath(path, HERE))[0]
            for mode, outcome in results:
                if outcome.skip:
                    tap.skip(f"{name}, {mode}", outcome.skip)
                else:
                    tap.ok(not outcome.faults, f"{name}, {mode}", *outcome.faults)
    tap.done()


if __name__ == "__main__":
    main(sys.argv[1:])
