#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""cprof check: one verdict on each file, and a limit that can't be judged is no limit that holds."""
import math
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


def make(path, period, functions=("main", "parse(char*)"), first_id=1):
    """A profile in which each function allocates 100 bytes, and one that is in no stack."""
    maker = Maker()
    for table in (4, 5):  # locations, functions
        maker.count(table, first_id - 1)
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
    unknown = (f"cprof: {path}: has no function 'pars', but 'parse(char*)', so 'alloc_space:pars<=1M' can't be judged; "
               "--allow-missing takes it for 0\n")
    judged("the whole process", ["--max", "alloc_space<=200", path], 0,
           f"{path}: alloc_space is 200, within the limit of 200\n{fine}", "")
    judged("the whole process, over it", ["--max", "alloc_space<=199", path], 1, "",
           f"cprof: {path}: alloc_space is 200, over the limit of 199\n")
    judged("the whole process, in what is not there", ["--max", "inuse_space<=1G", path], 3, "",
           f"cprof: {path}: no sample type 'inuse_space'\n")
    judged("a function that isn't there", ["--max", "alloc_space:pars<=1M", path], 3, "", unknown)
    judged("it may be missing", ["--allow-missing", "--max", "alloc_space:pars<=1M", path], 0,
           f"{path}: pars: alloc_space is 0, within the limit of 1048576\n{fine}", "")
    judged("the others may not be over their limits then",
           ["--allow-missing", "--max", "alloc_space:pars<=1M", "--max", "alloc_space:main<=99", path], 1,
           f"{path}: pars: alloc_space is 0, within the limit of 1048576\n", over)


TYPES = tuple((f"{kind}_{what}", unit) for kind in ("alloc", "inuse")
              for what, unit in (("objects", "count"), ("space", "bytes")))


def make_all(path, period, samples, comment=""):
    """A profile with cprof's sample types; `samples`: (name, linker's name, file, blocks, bytes), half of them in use."""
    maker = Maker(TYPES)
    for i, (name, system_name, filename, blocks, size) in enumerate(samples):
        maker.sample([maker.location(0, i + 1, [(maker.function(name, system_name, filename), 1)])],
                     [blocks, size, blocks // 2, size // 2])
    maker.head(11, field(1, maker.text("space")) + field(2, maker.text("bytes")))
    maker.head(12, period)
    maker.head(13, comment)
    maker.write(path)
    return path


def verdict(path, limit, *options):
    """The exit status, and what is said of the limit; "FILE" is the file."""
    result = cprof("check", *options, "--max", limit, path)
    return result.returncode, (result.stderr or result.stdout.splitlines()[0]).strip().replace(path, "FILE")


def check_names(place):
    """As `cprof run` writes names: without parameters, and beside them the linker's."""
    path = make_all(os.path.join(place, "names.pb.gz"), 1, (
        ("one::parse", "_ZN3one5parseEPc", "t.cc", 2, 100), ("one::parse", "_ZN3one5parseEi", "t.cc", 2, 200),
        ("make", "_Z4makeIiEPT_i", "t.cc", 2, 50), ("A::get", "_ZNK1A3getEv", "t.cc", 2, 8),
        ("gone.constprop.0", "gone.constprop.0", "", 2, 30), ("half.isra.0.part.1", "half.isra.0.part.1", "", 2, 40),
        ("cut", "_ZL3cuti.cold", "t.cc", 2, 60), ("gone.by", "gone.by", "", 2, 1000),
        ("init", "init", "a.c", 2, 70), ("init", "init", "b.c", 2, 80)))
    whole = {"one::parse(char*)": 100, "one::parse(char *)": 100, "one::parse(int)": 200, "make<int>(int)": 50, "make": 50,
             "int* make<int>(int)": 50, "make<int>": 50, "A::get() const": 8, "A::get()": 8, "A::get": 8, "gone": 30,
             "gone.constprop.0": 30, "half": 40, "cut": 60, "cut(int)": 60, "_ZN3one5parseEPc": 100}
    tap.equal({name: verdict(path, f"alloc_space:{name}<=1K") for name in whole},
              {name: (0, f"FILE: {name}: alloc_space is {size}, within the limit of 1024") for name, size in whole.items()},
              "functions by their names: with parameters, of templates, and the compiler's clones")
    tap.equal(verdict(path, "alloc_space:one::parse<=299"),
              (1, "cprof: FILE: one::parse: alloc_space is 300 of 2 functions together (one::parse(char*), one::parse(int)), "
                  "over the limit of 299"), "overloads are added up, which is said")
    tap.equal(verdict(path, "alloc_space:init<=150"),
              (0, "FILE: init: alloc_space is 150 of 2 functions together (init (a.c), init (b.c)), within the limit of 150"),
              "so are functions of one name in several files")
    for wrong, near in (("one::parse(long)", "'one::parse'"), ("parse", "'one::parse'"), ("two::parse", "'one::parse'"),
                        ("mak", "'make'"), ("con", None), ("const", None), ("int", "'init'"), ("a_quite_different_one", None)):
        code, said = verdict(path, f"alloc_space:{wrong}<=1K")
        tap.equal((code, said), (3, f"cprof: FILE: has no function '{wrong}'{f', but {near}' if near else ''}, so "
                                    f"'alloc_space:{wrong}<=1K' can't be judged; --allow-missing takes it for 0"),
                  f"no function {wrong}")
    many = make_all(os.path.join(place, "many.pb.gz"), 1,
                    [(name, name, "", 2, 10) for name in ("xa::work", "worm", "xb::work", "xc::work", "xd::work")])
    tap.ok(", but 'xa::work', 'xb::work' and 'xc::work', so" in verdict(many, "alloc_space:work<=1K")[1],
           "of many that are near the nearest are named", verdict(many, "alloc_space:work<=1K"))


def check_errors(place):
    """Of an estimate it is said how far off it may be, by the formula of proto/estimate.h."""
    blocks, size, rate = 10000, 1000, 100000
    path = make_all(os.path.join(place, "error.pb.gz"), rate, [("main", "main", "", blocks, blocks * size)])
    weight = 1 / -math.expm1(-size / rate)
    sampled = round(blocks / weight)
    errors = {"alloc_objects": math.ceil(math.sqrt(sampled * weight * (weight - 1)))}
    errors["alloc_space"] = math.ceil(math.sqrt(sampled * weight * (weight - 1)) * size)
    near = ", but that is within two standard errors; a profile with rate 1 is exact"
    for kind, value in (("alloc_objects", blocks), ("alloc_space", blocks * size)):
        for limit, word, code in ((value - 3 * errors[kind], "over", 1), (value - errors[kind], "over", 1),
                                  (value + errors[kind], "within", 0), (value + 3 * errors[kind], "within", 0)):
            close = abs(limit - value) <= 2 * errors[kind]
            for subject in ("main: ", ""):
                tap.equal(verdict(path, f"{kind}:main<={limit}" if subject else f"{kind}<={limit}"),
                          (code, f"{'cprof: ' if code else ''}FILE: {subject}{kind} is {value} (estimated, "
                                 f"±{errors[kind]}), {word} the limit of {limit}{near if close else ''}"),
                          f"{kind}: an estimate {word} its limit, {'close to' if close else 'far from'} it")


def check_incomplete(place):
    """What is missing may be of any function, and of what is in use."""
    start = "cprof 0.1.0: exact alloc_space=3000 alloc_objects=30; "
    over = make_all(os.path.join(place, "over.pb.gz"), 1, [("main", "main", "", 20, 2000)],
                    start + "records are incomplete: what functions allocated and what is in use is at least what is shown; "
                    "truncated 0, dropped 0, over memory limit 10; own memory 9 KiB")
    lost = make_all(os.path.join(place, "lost.pb.gz"), 1, [("main", "main", "", 20, 2000)],
                    start + "records are incomplete; truncated 0, dropped 10, over memory limit 0; own memory 9 KiB")
    def unsure(limit, subject, kind, figure):
        return 3, (f"cprof: FILE: {subject}{kind} is {figure}, and records are missing, so '{limit}' can't be judged; its "
                   "comment says which")
    for path, in_use in ((over, "at least 1000"), (lost, "1000")):
        for subject in ("main", ""):
            limit, colon = f"inuse_space:{subject}".rstrip(":"), subject and f"{subject}: "
            tap.equal(verdict(path, f"{limit}<=1K"), unsure(f"{limit}<=1K", colon, "inuse_space", in_use),
                      f"incomplete: what is in use can't be said to be within a limit, {in_use}")
        tap.equal(verdict(path, "alloc_space:main<=2K"), unsure("alloc_space:main<=2K", "main: ", "alloc_space", "at least 2000"),
                  "nor what a function allocated")
        tap.equal(verdict(path, "alloc_space:main<=1K"),
                  (1, "cprof: FILE: main: alloc_space is at least 2000, over the limit of 1024"), "it can be over one")
    tap.equal(verdict(over, "inuse_space<=999"), (1, "cprof: FILE: inuse_space is at least 1000, over the limit of 999"),
              "so can what is in use")
    tap.equal(verdict(lost, "inuse_space<=999"), unsure("inuse_space<=999", "", "inuse_space", "1000"),
              "if what is missing may be frees it can't")
    tap.equal(verdict(over, "alloc_space<=2000"), (0, "FILE: alloc_space is 2000, within the limit of 2000"),
              "all that was allocated is known, though not where")
    tap.equal(verdict(lost, "alloc_space<=2000"), unsure("alloc_space<=2000", "", "alloc_space", "at least 2000"),
              "unless that is missing, too")


def check_limited(place):
    """A program that keeps more than the profiler may record of it."""
    path = os.path.join(place, "limited.pb.gz")
    under.run([under.program("system/steps"), "keep_a:100:10", "sizes:30000"],
              {"RATE": "1", "OUT": path, "MAX_MEMORY": "1M"}, stdin=subprocess.DEVNULL)
    symbolize(path, path, "--quiet")
    code, said = verdict(path, "inuse_space:main<=400M")
    tap.ok(code == 3 and "can't be judged" in said, "over the memory limit: what it has in use can't be judged", said)
    tap.equal(verdict(path, "inuse_space:keep_a<=999"),
              (1, "cprof: FILE: keep_a: inuse_space is at least 1000, over the limit of 999"), "what is over a limit is")


def check_ids(place):
    """profile.proto asks for ids that differ, no more; and Go's profile of threads has samples without locations."""
    path = make(os.path.join(place, "ids.pb.gz"), 1, first_id=1000)
    fine = f"{path}: ok (2 samples, alloc_space=200)\n"
    judged("ids from 1000 on", ["--max", "alloc_space:parse<=100", path], 0,
           f"{path}: parse: alloc_space is 100, within the limit of 100\n{fine}", "")
    maker = Maker()
    maker.sample([], [7])
    path = os.path.join(place, "threads.pb.gz")
    maker.write(path)
    judged("a sample without locations", [path], 0, f"{path}: ok (1 samples, alloc_space=7)\n", "")


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
    check_names(PLACE)
    check_errors(PLACE)
    check_incomplete(PLACE)
    check_limited(PLACE)
    check_ids(PLACE)
    check_stripped(PLACE)
finally:
    shutil.rmtree(PLACE)
tap.done()
