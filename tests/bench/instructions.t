#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Instructions that the profiler adds, which don't depend on what else the machine does.

    tests/bench/instructions.t [LIBRARY]      default: CPROF_LIB, or build/libcprof.so

Counted by valgrind (cachegrind, without its caches). For operations the same work is done twice, with different numbers
of operations: the difference is theirs alone, without start-up and exit. Whole programs are counted as they are.
"""
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [HERE, os.path.join(ROOT, "tests", "lib")]
import inputs  # noqa: E402
import pprof  # noqa: E402
import run  # noqa: E402
import tap  # noqa: E402

# No sample falls into an operation: a mean distance of 1 TiB.
UNSAMPLED = "1T"

# Most instructions that a pair of malloc and free may take more than without the library: (work, rate, budget).
PAIRS = (
    ("pair", UNSAMPLED, 20),
    ("deep", UNSAMPLED, 20),
    ("pair", "524288", 26),   # with the share of the samples: one in 8,192 pairs
    ("deep", "524288", 26),
    ("pair", "1", 370),       # everything recorded: measured 352, and 5 % more
    ("deep", "1", 610),       # 40 frames that are the same each time: 581
    ("stacks", "1", 1350),    # 40 frames that are others each time, of 64 stacks in turn: 1,286
)

# Most instructions that a program may take more at the default rate, in percent; of what it takes without a preload, or
# under one that only hands calls on (forward.c). The latter for Python with each object of its own from malloc, which
# takes 1.2 % more under that already.
PROGRAMS = {"sqlite3": ("nothing", 1.0), "jq": ("nothing", 1.0), "cc1": ("nothing", 1.0), "python3": ("forward", 1.0)}

# Most instructions that a process takes more, from its start to its end and its profile, that does nothing itself; than under
# the preload that only hands calls on. Measured: 806,000, over half of them the loader's, for the backend's libraries.
START = 830_000

BUILD = os.path.join(ROOT, "build", "bench-programs")
WORK, FORWARD = os.path.join(BUILD, "work"), os.path.join(BUILD, "libforward.so")


def count(command, library, rate, tmp, environment=None):
    """Instructions of a run; without the library if it is None."""
    env = {**run.clean_environment(), **(environment or {})}
    if library:
        env["LD_PRELOAD"] = library
    if rate:
        env.update(CPROF_RATE=rate, CPROF_SYMBOLIZE="off", CPROF_SEED="1",
                   CPROF_OUT=os.path.join(tmp, "%e.%p.pb.gz"))
    # Not the wrapper script that Debian installs, which is a process with the library of its own.
    valgrind = shutil.which("valgrind.bin") or shutil.which("valgrind")
    counting = [valgrind, "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null", *command]
    ran = subprocess.run(counting, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                         text=True, check=False)
    found = re.search(r"I\s+refs:\s+([\d,]+)", ran.stderr)
    if ran.returncode != 0 or not found:
        raise RuntimeError(f"{command[0]}: status {ran.returncode}\n{ran.stderr}")
    return int(found.group(1).replace(",", ""))


def least(*arguments):
    """The least of a few counts: where blocks come to lie decides how often a large one is copied when it grows, which makes
    up to half a per cent in jq."""
    return min(count(*arguments) for _ in range(3))


def newest(tmp):
    return max(glob.glob(os.path.join(tmp, "*.pb.gz")), key=os.path.getmtime)


def per_operation(kind, library, rate, tmp, n):
    few, many = (count([WORK, kind, str(k)], library, rate, tmp) for k in (n, 5 * n))
    return (many - few) / (4 * n)


def programs(data):
    """(name, command, environment) of those that are installed; None for the command of one that is not."""
    sqlite, jq, cc1 = shutil.which("sqlite3"), shutil.which("jq"), inputs.compiler()
    yield "sqlite3", sqlite and [sqlite, ":memory:", ".read " + inputs.sql_file(data, 30000)], None
    yield "jq", jq and [jq, "map(.v.x)|add", inputs.json_file(data, 5)], None
    python = [sys.executable, inputs.python_file(data), inputs.json_file(data, 2), "1"]
    yield "python3", python, {"PYTHONMALLOC": "malloc", "PYTHONHASHSEED": "0"}
    yield "cc1", cc1 and [cc1, "-quiet", "-O1", inputs.c_file(data, 60), "-o", "/dev/null"], None


def main():
    library = os.path.abspath(sys.argv[1] if len(sys.argv) > 1
                              else os.environ.get("CPROF_LIB", os.path.join(ROOT, "build", "libcprof.so")))
    if not shutil.which("valgrind"):
        tap.skip_all("valgrind is not installed")
    if not os.path.exists(library) or not os.path.exists(WORK):
        tap.skip_all(f"{library} or {WORK} is not built (make all bench-programs)")
    with tempfile.TemporaryDirectory(prefix="cprof-instructions-") as tmp:
        plain = {}
        for kind, rate, budget in PAIRS:
            # A few times the mean distance of samples at the default rate, and enough to even out first encounters.
            n = 20000 if rate == "524288" else 2000
            if (kind, n) not in plain:
                plain[kind, n] = per_operation(kind, None, None, tmp, n)
            more = per_operation(kind, library, rate, tmp, n) - plain[kind, n]
            tap.ok(more <= budget, f"{kind} at rate {rate}: {more:.1f} instructions more, at most {budget}")
            if rate == "1":
                # What costs nothing may have done nothing.
                recorded = pprof.load(newest(tmp), symbolize=False).total("alloc_objects")
                tap.ok(recorded >= 5 * n, f"{kind} at rate 1: the {5 * n} blocks were recorded", f"{recorded} were")
        nothing = [shutil.which("true")]
        more = count(nothing, library, "524288", tmp) - count(nothing, FORWARD, None, tmp)
        tap.ok(more <= START, f"a process that does nothing: {more:,} instructions more, at most {START:,}")
        tap.ok(not pprof.load(newest(tmp), symbolize=False).samples, "and its profile is there")
        for name, command, environment in programs(tmp):
            if not command:
                tap.skip(name, "not installed")
                continue
            base, limit = PROGRAMS[name]
            without = least(command, FORWARD if base == "forward" else None, None, tmp, environment)
            more = 100 * (least(command, library, "524288", tmp, environment) / without - 1)
            tap.ok(more <= limit, f"{name} at the default rate: {more:.2f} % more instructions than with {base}, which "
                   f"are {without / 1e6:.0f} million; at most {limit} %")
    tap.done()


if __name__ == "__main__":
    main()
