#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The settings, one by one: what is accepted, what is refused and how, and what each does. For those that say where
the profile goes see names.t."""
import os
import re
import shutil
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
sys.dont_write_bytecode = True
import pprof  # noqa: E402
import tap  # noqa: E402
import under  # noqa: E402

STEPS = under.program("system/steps")

# What can't be read: (values, what the line has to say).
REFUSED = {
    "RATE": (("", "x", "-1", "1.5", "1KK", "512 K", "0x10", "2T", "99999999999999999999"), "524288"),
    "DEPTH": (("", "0", "1025", "ten", "-3", "12K"), "1 to 1024"),
    "UNWIND": (("", "DWARF", "frame"), "dwarf or fp"),
    "SIGNAL": (("", "KILL", "SIGSTOP", "9", "19", "0", "65", "SIGNOTHING", "RTMIN+99"), "signal"),
    "INTERVAL": (("", "soon", "30x", "-1s", "1.5s"), "30s"),
    "INTERVAL_BYTES": (("", "much", "1000", "-1G"), "1G"),
    "PEAK": (("", "2", "yes"), "1 or 0"),
    "START": (("", "later", "2"), "on or off"),
    "FORK": (("", "on", "spoon"), "follow or off"),
    "SYMBOLIZE": (("", "maybe"), "on or off"),
    "MAX_MEMORY": (("", "1", "1000K", "lots"), "256M"),
    "SEED": (("", "x", "1x", "-1"), "number"),
    "LOG": (("", "debug", "3"), "error, warn or info"),
    "OUT": (("", "x" * 4096), "file name"),
    "ONLY": (("",), "patterns"),
    "DROP_FRAMES": (("", "x" * 4096), "regular expression"),
}
ACCEPTED = {
    "RATE": ("0", "1", "524288", "512K", "512k", "1M", "1g", "1T", "4096"),
    "DEPTH": ("1", "128", "1024"),
    "UNWIND": ("dwarf", "fp"),
    "SIGNAL": ("USR2", "SIGUSR2", "12", "PROF", "RTMIN", "SIGRTMIN+3", "WINCH"),
    "INTERVAL": ("0", "30s", "5m", "1h", "500ms", "30"),
    "INTERVAL_BYTES": ("1M", "1G", "1048576"),
    "PEAK": ("0", "1"),
    "START": ("on", "off", "0", "1"),
    "FORK": ("follow", "off"),
    "SYMBOLIZE": ("on", "off", "1", "0"),
    "MAX_MEMORY": ("1M", "256M", "1G", "8388608"),
    "SEED": ("0", "1", "18446744073709551615"),
    "LOG": ("error", "warn", "info"),
    "ONLY": ("steps", "a,b,st*", "*"),
    "DROP_FRAMES": ("x", "my_alloc|other\\(.*\\)"),
}


def check_refused(directory):
    """One line that names the setting and says what is accepted; then as if it were not set."""
    path = os.path.join(directory, "refused.pb.gz")
    command = [STEPS, "keep_a:1000:10", "say:hello", "exit:7"]
    for name, (values, accepted) in REFUSED.items():
        wrong = []
        for value in values:
            settings = {"RATE": "1", "OUT": path, name: value}
            result = under.run(command, settings, cwd=directory)
            line = result.stderr
            if (result.returncode, result.stdout) != (7, "hello\n"):
                wrong.append(f"{value!r}: ends with {result.returncode}, prints {result.stdout}")
            if not (line.count("\n") == 1 and line.startswith("cprof[") and f"CPROF_{name}=" in line
                    and accepted in line):
                wrong.append(f"{value!r}: {line}")
        tap.equal(wrong, [], f"CPROF_{name}: what can't be read gets one line")
    result = under.run(command, {"RATE": "many", "OUT": path})
    tap.equal(pprof.load(path).period, 524288, "then the default is used")
    result = under.run(command, {"RAET": "1", "OUT": path})
    tap.ok(re.fullmatch(r"cprof\[\d+\]: CPROF_RAET\b.*CPROF_RATE\b.*CPROF_OUT\b.*\n", result.stderr),
           "an unknown name gets one line, with those there are", result.stderr)
    tap.equal((result.returncode, result.stdout), (7, "hello\n"), "and does nothing else")
    result = under.run(command, {"RATE": "x" * 100000, "OUT": path})
    tap.ok(result.returncode == 7 and result.stderr.count("\n") == 1 and len(result.stderr) < 1000,
           "a long value is cut in the line", result.stderr)
    result = under.run(command, {"RATE": "x", "DEPTH": "x", "NOTHING": "x"})
    tap.ok(result.returncode == 7 and result.stderr.count("\n") == 3, "each mistake has its line", result.stderr)
    result = under.run(["true"], {"SIGNAL": "32"})  # which libc keeps for itself
    tap.ok(re.fullmatch(r"cprof\[\d+\]: .*signal 32.*\n", result.stderr) and result.returncode == 0,
           "a signal that can't be had gets one line, with its number", result)
    result = under.run([STEPS, "close:2", "exit:7"], {"RATE": "x"})
    tap.equal(result.returncode, 7, "a closed stderr changes nothing")


# What is taken as it is, but hardly what was meant: (value, what the line has to say; None: there is none).
DOUBTFUL = {
    "OUT": (("x.%q.gz", "'%q' stands for nothing"), ("x%", "'%' stands for nothing"), ("x.%n%%q.%E", "'%E' stands for nothing"),
            ("x%\u00e9", "'%' stands for nothing"), ("x.%e.%p.%n.%h.%t.%%", None), ("100%%", None)),
    "ONLY": (("[", "'[' has a [ that no ] closes"), ("steps,[ab", "'[ab' has a ["), ("a[!]x,steps", "'a[!]x' has a ["),
             (STEPS, "without directories"), ("x,,bin/steps", "'bin/steps' matches nothing"), ("[]]*,[!a]t*,\\[,s[t]eps", None)),
    "DROP_FRAMES": (("(", "'(' is left out"), ("[a", "a [ is not closed"), ("*x", "nothing in front"), ("a\\", "last backslash"),
                    ("(?=x)", "(?="), ("(" * 200, "is left out"), ("(?i:a|[[:alpha:]_]+)\\(\\)|x{2}", None)),
}


def check_doubtful(directory):
    for name, values in DOUBTFUL.items():
        for value, said in values:
            with tempfile.TemporaryDirectory(dir=directory) as place:
                result = under.run([STEPS, "keep_a:10:10", "exit:7"], {"OUT": "x.pb.gz", name: value}, cwd=place)
                files = os.listdir(place)
            line = result.stderr
            fine = line.count("\n") == 1 and f": CPROF_{name}: " in line and said in line if said else line == ""
            tap.ok(fine and result.returncode == 7, f"CPROF_{name}={value[-20:]}: {said or 'nothing is said'}", result)
            if name == "OUT":
                wanted = value if said and "%n" not in value else None
                tap.ok(files == [wanted] if wanted else len(files) == 1, "and the name is what it was", files)


def check_accepted(directory):
    for name, values in ACCEPTED.items():
        wrong = []
        for value in values:
            path = os.path.join(directory, "accepted.pb.gz")
            result = under.run([STEPS, "keep_a:1000:10", "say:hello", "exit:7"], {"OUT": path, name: value})
            chatter = result.stderr if (name, value) not in (("LOG", "warn"), ("LOG", "info")) else ""
            if (result.returncode, result.stdout, chatter) != (7, "hello\n", ""):
                wrong.append(f"{value}: {under.outcome(result)}")
            if os.path.exists(path):
                os.remove(path)
            elif (name, value) != ("RATE", "0"):
                wrong.append(f"{value}: no profile")
        tap.equal(wrong, [], f"CPROF_{name}: {', '.join(values)} accepted")


class Runs:
    """Runs of steps, each with its profile."""

    def __init__(self, directory):
        self.path = os.path.join(directory, "profile.pb.gz")

    def __call__(self, steps, program=STEPS, **settings):
        """(result, profile or None)"""
        result = under.run([program, *steps], {"RATE": "1", "OUT": self.path, **settings})
        if not os.path.exists(self.path):
            return result, None
        profile = pprof.load(self.path)
        tap.equal(under.check([self.path]), "", f"{' '.join(steps)[:50]}, {settings}: valid")
        os.remove(self.path)
        return result, profile


def check_rate(run):
    _, profile = run(["keep_a:100:20"], RATE="0")
    tap.ok(profile is None, "CPROF_RATE=0: no profile")
    for value, period in (("1", 1), ("4K", 4096), ("1M", 1 << 20)):
        tap.equal(run([], RATE=value)[1].period, period, f"CPROF_RATE={value} is the period")


def check_only(run):
    for patterns, wanted in (("steps", 1), ("other,step?", 1), ("*", 1), ("other", 0), ("step", 0), ("x,,y", 0),
                             ("/steps", 0)):
        _, profile = run(["keep_a:100:20"], ONLY=patterns)
        tap.equal(profile is not None, bool(wanted), f"CPROF_ONLY={patterns}: {'profiled' if wanted else 'left alone'}")


def check_start(run):
    steps = ["keep_a:100:20", "start", "keep_b:100:20", "stop", "keep_a:100:5", "start", "pass:100:3"]
    _, profile = run(steps, START="off")
    flat = profile.flat("alloc_objects")
    tap.equal([flat[name] for name in ("keep_a", "keep_b", "pass")], [0, 20, 3], "CPROF_START=off, start, stop, start")
    tap.equal(under.exact(profile), under.exact(run(steps)[1]), "the exact totals know of all")
    _, profile = run(["keep_a:100:20", "stop", "keep_b:100:20"])
    flat = profile.flat("alloc_objects")
    tap.equal([flat[name] for name in ("keep_a", "keep_b")], [20, 0], "on from the start, then stop")
    _, profile = run(["keep_a:100:20"], START="off")
    tap.equal(profile.total("alloc_objects"), 0, "CPROF_START=off and no start: a profile of nothing")
    note = "recording was switched off for a time"
    tap.ok(note in " ".join(profile.comments), "and the comment says why", profile.comments)
    tap.ok(note not in " ".join(run(["keep_a:100:20"])[1].comments), "which it doesn't of other profiles")


def check_depth(run):
    def stack(steps, **settings):
        _, profile = run(steps, **settings)
        return next(profile.pruned(sample) for sample in profile.samples if "bottom" in sample.stack)

    whole = stack(["deep:50:77"])
    tap.ok(whole[:51] == ["bottom"] + ["descend"] * 50 and whole[-1] == "_start", "a whole stack", whole)
    cut = stack(["deep:50:77"], DEPTH="10")
    tap.equal(cut[-1], "[truncated]", "CPROF_DEPTH=10: the cut is marked")
    tap.ok(cut[0] == "bottom" and set(cut[1:-1]) == {"descend"} and len(cut) <= 11, "and the leaf kept", cut)
    cut = stack(["deep:3000:77"], DEPTH="1024")
    tap.ok(cut[-1] == "[truncated]" and 1020 <= len(cut) <= 1025, "CPROF_DEPTH=1024 of 3000", len(cut))
    cut = stack(["deep:3000:77"])
    tap.ok(cut[-1] == "[truncated]" and 124 <= len(cut) <= 129, "128 are kept if nothing is said", len(cut))
    _, profile = run(["deep:5:77", "keep_a:7:7"], DEPTH="1")
    flat = profile.flat("alloc_space")
    tap.equal((flat["bottom"], flat["keep_a"]), (77, 49), "CPROF_DEPTH=1 knows the allocating function")
    _, profile = run(["deep:300:77"], DEPTH="20")
    tap.ok(re.search(r"truncated [1-9]", " ".join(profile.comments)), "cut stacks are counted", profile.comments)


def check_unwind(run):
    _, profile = run(["deep:40:77", "keep_a:100:20"], UNWIND="fp")
    stack = next(profile.pruned(sample) for sample in profile.samples if "bottom" in sample.stack)
    tap.ok(stack[:42] == ["bottom"] + ["descend"] * 40 + ["take_step"] or stack[:41] == ["bottom"] + ["descend"] * 40,
           "CPROF_UNWIND=fp walks frames that have a pointer", stack)
    tap.equal(profile.flat("alloc_space")["keep_a"], 2000, "CPROF_UNWIND=fp: exact as well")


def shape(profile):
    return sorted((tuple(sample.stack), tuple(sample.values.values())) for sample in profile.samples)


def check_seed(run):
    steps = ["keep_a:100:5000", "pass:1000:2000", "keep_b:64:3000"]
    first, again, other = (shape(run(steps, RATE="8K", SEED=seed)[1]) for seed in ("7", "7", "8"))
    tap.equal(first, again, "CPROF_SEED: the same seed, the same samples")
    tap.ok(first != other, "another seed, others")
    free = [shape(run(steps, RATE="8K")[1]) for _ in range(2)]
    tap.ok(free[0] != free[1], "without one, two runs differ")


def check_max_memory(run):
    steps = ["sizes:30000", "keep_a:1000:5", "stats"]
    result, profile = run(steps, MAX_MEMORY="2M", DEPTH="64")
    tap.equal((result.returncode, result.stderr), (0, ""), "CPROF_MAX_MEMORY: the program doesn't notice")
    own = int(result.stdout.split()[-1])
    tap.ok(0 < own <= 2 << 20, "CPROF_MAX_MEMORY=2M holds", own)
    flat = profile.flat("alloc_space")
    tap.ok(flat["[cprof: memory limit]"] > 0, "the rest is in one bucket, named for that", flat)
    tap.equal((profile.total("alloc_space"), profile.total("alloc_objects")), under.exact(profile),
              "and nothing is lost")
    tap.ok(profile.total("alloc_space") > sum(range(30001)), "all the program did is there", profile.comments)
    tap.ok(re.search(r"over memory limit [1-9]", " ".join(profile.comments)), "and counted", profile.comments)
    tap.ok("; records are incomplete: " in profile.comments[0] and "every allocation" not in profile.comments[0],
           "the comment claims no more than there is", profile.comments)
    result, profile = run(steps)
    tap.equal((profile.flat("alloc_space")["[cprof: memory limit]"], "every allocation" in profile.comments[0]), (0, True),
              "without a limit there is none")
    tap.ok(int(result.stdout.split()[-1]) > 2 << 20, "and it would have taken more", result.stdout)


def check_drop_frames(run):
    _, profile = run(["deep:5:77", "keep_a:10:10"], DROP_FRAMES="bottom|desc.*")
    tap.ok(profile.drop_frames.endswith("|bottom|desc.*") and "malloc" in profile.drop_frames,
           "CPROF_DROP_FRAMES is put to the rest", profile.drop_frames)
    flat = profile.flat("alloc_space")
    tap.equal((flat["bottom"], flat["descend"], flat["keep_a"]), (0, 0, 100), "and does what it says")
    plain = run(["keep_a:10:10"])[1].drop_frames
    _, profile = run(["keep_a:10:10"], DROP_FRAMES="keep_a|(")
    tap.equal((profile.drop_frames, profile.flat("alloc_space")["keep_a"]), (plain, 100),
              "one that is no regular expression is left out, and the rest does what it should")


def check_symbolize(directory):
    """Without the command names are left, which is said once, and only where warnings are asked for."""
    where = os.path.join(directory, "alone")
    os.mkdir(where)
    for path in (under.LIBRARY, under.BACKEND):
        shutil.copy(path, where)
    steps = ["keep_a:100:20", "dump", "dump", "exit:7"]
    for log, symbolize, lines in (("error", "on", 0), ("warn", "on", 1), ("info", "on", 1), ("warn", "off", 0)):
        result = under.run([STEPS, *steps], {"RATE": "1", "OUT": os.path.join(where, "x.pb.gz"), "LOG": log, "SYMBOLIZE": symbolize},
                           os.path.join(where, "libcprof.so"), {"PATH": "/none"})
        said = r"(cprof\[\d+\]: no cprof .* or in PATH: names are left to `cprof symbolize .*`\n)"
        tap.ok(result.returncode == 7 and re.fullmatch(said + f"{{{lines}}}", result.stderr),
               f"no cprof to be found, CPROF_LOG={log}, CPROF_SYMBOLIZE={symbolize}: {lines} lines", result)


def check_api(run, directory):
    dumped = os.path.join(directory, "dumped.pb.gz")
    result, profile = run(["keep_a:100:20", f"dump:{dumped}", "keep_b:100:5", "stats"])
    early = pprof.load(dumped)
    tap.equal([early.flat("inuse_space")[name] for name in ("keep_a", "keep_b")], [2000, 0],
              "cprof_dump(path): what was")
    tap.equal(profile.flat("inuse_space")["keep_b"], 500, "the last profile: all")
    fields = [int(field) for field in result.stdout.split()[1:]]
    tap.equal(tuple(fields[:2]), under.exact(profile), "cprof_get_stats: bytes and calls are those of the comment")
    tap.equal(fields[2:5], [fields[0], fields[1], 0], "at rate 1 all are recorded, none dropped")
    tap.ok(0 < fields[5] < 64 << 20, "and what it takes is known", fields)
    result, _ = run(["keep_a:100:20", "dump:/nonexistent/x"])
    tap.ok("No such file" in result.stdout and "/nonexistent/x" in result.stderr and result.stderr.count("\n") == 1
           and result.returncode == 0, "cprof_dump to where it can't: errno, and one line", result)
    result, _ = run(["stats", "dump:x"], RATE="0")
    tap.ok("not profiled: ENODATA" in result.stdout and "dump: No data" in result.stdout and not result.stderr,
           "not profiled: ENODATA", result)
    result = under.plain([STEPS, "stats", "dump"])
    tap.equal(under.outcome(result), (0, "no library\nno library\n", ""), "without the library the functions are null")


with tempfile.TemporaryDirectory(prefix="cprof-settings.") as place:
    runs = Runs(place)
    check_refused(place)
    check_doubtful(place)
    check_accepted(place)
    check_rate(runs)
    check_only(runs)
    check_start(runs)
    check_depth(runs)
    check_unwind(runs)
    check_seed(runs)
    check_max_memory(runs)
    check_drop_frames(runs)
    check_symbolize(place)
    check_api(runs, place)
tap.done()
