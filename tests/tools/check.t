#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""cprof check: one verdict on each file, and a limit that can't be judged is no limit that holds."""
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True
from toolkit import Maker, cprof, field, record, symbolize, under  # noqa: E402
import tap  # noqa: E402

BATCH = os.path.join(under.ROOT, "build", "workloads", "message_batch")
GROWING = "build_message_batch_growing"


def make(path, period, functions=("main", "parse(char*)")):
    """A profile in which each function allocates 100 bytes, and one that is in no stack."""
    maker = Maker()
    for i, name in enumerate(functions):
        maker.sample([maker.location(0, i + 1, [(maker.function(name), 1)])], [100])
    maker.function("idle")
    maker.head(11, field(1, maker.text("space")) + field(2, maker.text("bytes")))
    maker.head(12, period)
    maker.write(path)
    return path


def judged(title, arguments, code, stdout, stderr):
    result = cprof("check", *arguments)
    tap.equal((result.returncode, result.stdout, result.stderr), (code, stdout, stderr), title)


def check_verdicts(place):
    path, sampled = make(os.path.join(place, "exact.pb.gz"), 1), make(os.path.join(place, "sampled.pb.gz"), 524288)
    fine = f"{path}: ok (2 samples, alloc_space=200)\n"
    within = f"{path}: parse: alloc_space is 100, within the limit of 100\n"
    over = f"cprof: {path}: main: alloc_space is 100, over the limit of 99\n"
    judged("no limit", [path], 0, fine, "")
    judged("within a limit", ["--max", "alloc_space:parse<=100", path], 0, within + fine, "")
    judged("over it: not 'ok' as well", ["--max", "alloc_space:main<=99", path], 1, "", over)
    judged("one of two", ["--max", "alloc_space:main<=99", "--max", "alloc_space:parse<=100", path], 1, within, over)
    judged("a function in no stack", ["--max", "alloc_space:idle<=0", path], 0,
           f"{path}: idle: alloc_space is 0, within the limit of 0\n{fine}", "")
    judged("a sampled profile: it is an estimate that is judged", ["--max", "alloc_space:main<=99", sampled], 1, "",
           f"cprof: {sampled}: main: alloc_space is 100 (estimated), over the limit of 99\n")
    unknown = (f"cprof: {path}: has no function 'pars', so 'alloc_space:pars<=1M' can't be judged; "
               "--allow-missing takes it for 0\n")
    judged("a function that isn't there", ["--max", "alloc_space:pars<=1M", path], 3, "", unknown)
    judged("it may be missing", ["--allow-missing", "--max", "alloc_space:pars<=1M", path], 0,
           f"{path}: pars: alloc_space is 0, within the limit of 1048576\n{fine}", "")
    judged("the others may not be over their limits then",
           ["--allow-missing", "--max", "alloc_space:pars<=1M", "--max", "alloc_space:main<=99", path], 1,
           f"{path}: pars: alloc_space is 0, within the limit of 1048576\n", over)


def check_stripped(place):
    """The same gate on a build with names, and on one without those of the program."""
    codes = {}
    for title in ("whole", "stripped"):
        program, raw, path = (os.path.join(place, title + more) for more in ("", ".raw.pb.gz", ".pb.gz"))
        shutil.copy(BATCH, program)
        if title == "stripped":
            tap.equal(subprocess.run(["strip", program], check=False).returncode, 0, "a program is stripped")
        record([program, "growing"], raw)
        symbolize(raw, path, "--quiet")
        result = cprof("check", "--max", f"alloc_space:{GROWING}<=1G", path)
        codes[title] = result.returncode
        tap.ok((f"no function '{GROWING}'" in result.stderr) == (title == "stripped"), f"{title}: the limit", result)
    tap.equal(codes, {"whole": 0, "stripped": 3}, "a strip does not make the gate pass for good")


PLACE = tempfile.mkdtemp(prefix="cprof-check.")
try:
    check_verdicts(PLACE)
    check_stripped(PLACE)
finally:
    shutil.rmtree(PLACE)
tap.done()
