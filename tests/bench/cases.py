# SPDX-License-Identifier: Apache-2.0
"""The work: what is run, and by which programs. See tests/bench/bench.py."""
import os
import shutil
import sys

import inputs

# How a case is measured.
OPERATION = "operation"  # tests/bench/work.c, its own ns an operation
PROCESS = "process"      # a whole program: seconds of processor time and of wall time
REDIS = "redis"          # requests a second
MEMORY = "memory"        # an operation, and the peak
EXIT = "exit"            # seconds from the end of main to the end of the process, and how far the peak rises in them

OURS = ("plain", "forward", "off", "default", "rate1", "rate1-fp")
HEAPTRACK = ("heaptrack-lib", "heaptrack")
ALLOCATORS = ("tcmalloc", "tcmalloc-prof", "jemalloc", "jemalloc-prof")


class Case:
    """One row: `command` is what is run; `n` operations, of which tools that are much slower do a part."""

    def __init__(self, letter, name, title, how, tools, command=None, n=0, environment=None, missing=None, rounds=1):
        self.letter, self.name, self.title, self.how, self.tools = letter, name, title, how, tools
        self.command, self.n, self.environment, self.missing = command, n, environment or {}, missing
        self.rounds = rounds  # for each that others get: where single ones differ by more than what is looked for

    def operations(self, tool):
        """Operations to run under the tool."""
        slower = {"heaptrack": 10, "dhat": 50, "heaptrack-lib": 2, "tcmalloc-prof": 100}.get(tool, 1)
        return max(1, self.n // slower) if self.how == OPERATION and self.letter != "g" else self.n


def _program(name):
    """The program itself: what is called python3 in PATH may be a script that looks for one."""
    return sys.executable if name == "python3" else shutil.which(name) or ""


def all_cases(build, data, quick):
    """Every case; with `quick` less of the same work. Inputs go to `data`, programs are in `build`."""
    work = os.path.join(build, "work")
    part = 5 if quick else 1
    every = OURS + HEAPTRACK + ALLOCATORS

    def operation(letter, kind, title, n, tools=every, how=OPERATION):
        return Case(letter, kind, title, how, tools, [work, kind], n // part)

    cases = [
        operation("a", "pair", "malloc and free of 64 bytes", 10000000, every + ("dhat",)),
        operation("b", "slots1", "random sizes, 10,000 live blocks, one thread", 4000000),
        operation("b", "slots2", "the same in two threads", 4000000),
        operation("c", "deep", "malloc and free of 64 bytes, 40 frames deep", 10000000, every + ("dhat",)),
        operation("d", "paths", "2,000 call paths, 1 GiB live in blocks of 100 bytes", 10737418,
                  ("plain", "off", "default", "rate1", "heaptrack-lib", "heaptrack", *ALLOCATORS), MEMORY),
        operation("e", "handoff", "one thread allocates, another frees", 4000000),
        operation("f", "stacks", "64 stacks of 40 frames in turn, nothing in common", 2000000),
        operation("f", "stacks-outer", "64 stacks of 40 frames in turn, the outermost six differ", 2000000,
                  OURS + HEAPTRACK),
        operation("g", "threads", "10,000 short threads", 10000, OURS + HEAPTRACK),
    ]

    def process(letter, name, title, program, arguments, environment=None):
        path = _program(program) if program != "cc1" else inputs.compiler()
        return Case(letter, name, title, PROCESS, every + (("dhat",) if letter == "h" else ()), [path] + arguments,
                    environment=environment, missing=None if path else program)

    json_mb, rows, functions = (6, 60000, 200) if quick else (30, 300000, 1000)
    cases += [
        process("h", "jq", f"jq 'map(.v.x)|add' on {json_mb} MB", "jq",
                ["map(.v.x)|add", inputs.json_file(data, json_mb)]),
        process("i", "sqlite3", f"sqlite3 in memory, {rows:,} rows", "sqlite3",
                [":memory:", ".read " + inputs.sql_file(data, rows)]),
        Case("j", "redis", "redis-server, redis-benchmark -P 16", REDIS, OURS + HEAPTRACK,
             [_program("redis-server")], 300000, rounds=4,
             missing=None if _program("redis-server") and _program("redis-benchmark") else "redis-server"),
        process("k", "python3", "python3 json on 6 MB, PYTHONMALLOC=malloc", "python3",
                [inputs.python_file(data), inputs.json_file(data, 6), "1" if quick else "2"],
                {"PYTHONMALLOC": "malloc", "PYTHONHASHSEED": "0"}),
        process("l", "cc1", f"cc1 -O1 on {functions:,} functions", "cc1",
                ["-quiet", "-O1", inputs.c_file(data, functions), "-o", "/dev/null"]),
        Case("m", "exit-stacks", "at exit: 100,000 stacks of 30 frames", EXIT, ("plain", "rate1", "heaptrack-lib"),
             [work, "exit-stacks"], 100000),
        Case("m", "exit-buckets", "at exit: 1,000,000 buckets", EXIT, ("plain", "rate1", "heaptrack-lib"),
             [work, "exit-buckets"], 1000000),
    ]
    return cases
