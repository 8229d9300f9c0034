#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""cprof top: the same text as `go tool pprof -top`, to the byte, for many profiles, all types and options.

    tests/tools/top.t

What is known without pprof is checked in any case; the comparison is skipped where there is no Go.
"""
import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import time
import zlib

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.dont_write_bytecode = True
import toolkit  # noqa: E402
import tap  # noqa: E402
import under  # noqa: E402

WORKLOADS = os.path.join(under.ROOT, "build", "workloads")
TYPES = ("alloc_space", "alloc_objects", "inuse_space", "inuse_objects")
OPTIONS = (
    [], ["-cum"], ["-lines"], ["-lines", "-cum"], ["-files"], ["-noinlines"], ["-noinlines", "-lines"], ["-nodecount=7"],
    ["-nodecount=5", "-cum", "-lines"], ["-nodefraction=0"], ["-nodefraction=0.05"], ["-nodefraction=0", "-edgefraction=0"],
    ["-unit=auto"], ["-unit=MB"], ["-unit=kb"], ["-unit=B"], ["-unit=megabytes"], ["-unit=s"], ["-focus=m"], ["-ignore=alloc|open"],
    ["-focus=main", "-ignore=^_"], ["-hide=_"], ["-show=[a-k]"], ["-show=^m", "-focus=a"], ["-focus=(?i)MAIN"],
)
# Of labels: with a key and without, several, and what would be one text but for its comma.
TAGS = ("fork", "inherited", "^inherited:fork$", "kind=a", "kind=a,b", "kind=^b$", "kind:a,thread", "a,b", "thread=main", "kind=",
        "=a", "none", "bytes", "bytes=x", "(?i)MAIN", "x{1,2}", "size=4k=b", "1:2:", "bytes=16b",
        "bytes=17b", "2b:", ":15byte", "bytes=1b:15b", "bytes=0kb:1kb", "1bytes", "1s:", "n=1b", "bytes=-1b:")
# Every kind of expression that RE2 has and names call for.
EXPRESSIONS = (
    r"^main$", r"operator\+", r"\bgrow\b", r"(?:vec|map)tor", r"std::.*alloc", r"a{2}", r"o{1,2}p", r"[[:upper:]]", r"[^a-z:_]",
    r"\d", r"\w+::\w+", r"\s", r"[\d_]+", r"x*?y+?", r"\Q::operator()\E", r"\.so", r"{lambda", r"[]a]", r"a|b|", r"(?P<n>tor)$",
    r"\x5f", r"\Amain\z", r"~", r"[-+]", r"[a\-z]", r"\(anonymous", r"é*zz", r"a{", r"}", r"[.[]",
)


def pprof_top(tool, *arguments, symbolize="none"):
    # pprof takes Go's maps in any order, but sorts what it prints.
    return subprocess.run([*tool, "-symbolize=" + symbolize, "-top", *arguments], capture_output=True, text=True, check=False,
                          timeout=under.TIMEOUT).stdout


def cprof_top(*arguments, symbolize="no"):
    result = toolkit.cprof("top", "-symbolize", symbolize, *arguments)
    return result.stdout if result.returncode == 0 else f"exit status {result.returncode}: {result.stderr}"


def difference(ours, theirs):
    if ours == theirs:
        return None
    pairs = list(zip(ours.splitlines() + ["-"], theirs.splitlines() + ["-"]))
    return next((f"'{a}' instead of '{b}'" for a, b in pairs if a != b), "one is longer")


def compare(tool, title, tries):
    """`tries`: lists of arguments."""
    wrong = []
    for arguments in tries:
        why = difference(cprof_top(*arguments), pprof_top(tool, *arguments))
        if why:
            wrong.append(f"{' '.join(arguments)}: {why}")
    tap.ok(not wrong, f"{title}: as pprof, {len(tries)} times", *wrong[:8])


def profiles(directory):
    """{title: symbolized profile}."""
    commands = {
        "message_batch": [os.path.join(WORKLOADS, "message_batch"), "growing"],
        "graph": [os.path.join(WORKLOADS, "graph"), "map"],
        "collections": [os.path.join(WORKLOADS, "collections"), "go"],
        "tasks": [os.path.join(WORKLOADS, "tasks"), "task"],
        "primes": [os.path.join(WORKLOADS, "primes")],
        "jq": ["jq", "-n", "[range(100)] | map({a: .}) | length"],
        "sqlite3": ["sqlite3", ":memory:", "create table a(x); insert into a values(1); select * from a"],
        "python3": ["/usr/bin/python3", "-c", "import json; keep = json.loads('[1, 2]')"],
        "perl": ["perl", "-e", "my @a = map { \"x$_\" } 1..1000; print scalar(@a)"],
    }
    shapes = os.path.join(directory, "shapes")
    if shutil.which("g++"):
        subprocess.run(["g++", "-O2", "-g", "-o", shapes, os.path.join(HERE, "shapes.cc")], check=True)
        commands["C++"] = [shapes]
    made = {}
    for title, command in commands.items():
        if not shutil.which(command[0]):
            tap.skip(title, "not installed")
            continue
        raw, made[title] = os.path.join(directory, f"{title}.raw.pb.gz"), os.path.join(directory, f"{title}.pb.gz")
        toolkit.record(command, raw)
        toolkit.symbolize(raw, made[title], "--quiet")
    return made


def generated(directory, seed):
    """A profile without sense: inlining, recursion, functions of one name, negative values, locations without lines."""
    dice = random.Random(seed)
    maker = toolkit.Maker([(name, "bytes" if "space" in name else "count") for name in TYPES])
    files = ["/usr/src/./a.c", "b/../c.cc", "", "//x//y.h", "../z.c", "/../q.c", "/proc/self/cwd/w.c", "./"]
    functions = [maker.function(dice.choice(["", "f", "g", "main", "malloc", "operator new(unsigned long)", "a::b(int)",
                                             "(anonymous namespace)::h(char)", "S::operator()(int)", ".dot", f"n{i}"]),
                                None, dice.choice(files)) for i in range(30)]
    for i, path in enumerate(("/bin/prog", "/lib/libone.so", "/other/libone.so", "[vdso]", "")):
        maker.mapping(path, (i + 1) << 20, (i + 2) << 20, 0, "")
    locations = []
    for i in range(60):
        mapping = dice.randrange(0, 6)
        lines = [(dice.choice(functions), dice.choice([0, 1, 7, 100 + i])) for _ in range(dice.choice([0, 1, 1, 1, 2, 3]))]
        locations.append(maker.location(mapping, (mapping << 20) + dice.randrange(1 << 20) if mapping else i, lines))
    scale = dice.choice([10, 10**6, 10**13])
    for _ in range(200):
        stack = [dice.choice(locations) for _ in range(dice.randrange(1, 12))]
        low = -scale if seed % 3 == 0 else 0
        maker.sample(stack, [dice.choice([0, dice.randrange(low, scale)]) for _ in TYPES])
    maker.head(7, dice.choice(["malloc|operator new", "h|.*operator\\(\\)", "", "g|main|dot"]))
    if dice.randrange(2):
        maker.head(8, "main")
    maker.head(9, dice.choice([0, 1700000000123456789]) or 1)
    maker.head(10, dice.choice([1, 999, 5 * 10**8, 3 * 10**9, 7200 * 10**9]))
    maker.head(14, dice.choice(TYPES))
    path = os.path.join(directory, f"generated{seed}.pb.gz")
    maker.write(path)
    return path


def labelled(directory, name, factor):
    """A profile whose samples differ by their labels: none, texts, the same key twice, numbers."""
    maker = toolkit.Maker()
    labels = ((), (("inherited", "fork"),), (("kind", "a"),), (("kind", "b"), ("thread", "main")), (("kind", "a"), ("kind", "b")),
              (("bytes", 16),), (("thread", "main"), ("bytes", 1)), (("size", "4k=b"),), (("x", "x{1:2}"),), (("n", "1:2:"),))
    main = maker.location(0, 1, [(maker.function("main"), 1)])
    for i, some in enumerate(labels):
        maker.sample([maker.location(0, i + 2, [(maker.function(f"f{i}"), 1)]), main], [factor << i], some)
    path = os.path.join(directory, f"{name}.pb.gz")
    maker.write(path)
    return path


def tags(tool, directory):
    path, base = labelled(directory, "labelled", 3000), labelled(directory, "labels-before", 1000)
    compare(tool, "by labels", [[f"-{option}={tag}", *more] for tag in TAGS for option in ("tagfocus", "tagignore")
                                for more in ([path], ["-base", base, path])] +
            [["-tagfocus=kind", "-tagignore=thread", "-ignore=f2", path]])


def compared(tool, directory, made):
    for i, (title, path) in enumerate(made.items()):
        # All options with all types for the one that has most to it, a part of them for each of the others.
        part = [[kind, *more] for kind in TYPES for more in OPTIONS]
        part = part if title == "C++" else part[i % 5 :: 5]
        compare(tool, title, [["-" + kind, *more, path] for kind, *more in part] + [[path], ["-cum", path]])
    compare(tool, "a type by number", [["-sample_index=1", path]])
    every = list(made.values())
    compare(tool, "profiles added up", [["-" + kind, *every[:3]] for kind in TYPES] + [["-lines", every[0], every[0]]])
    compare(tool, "profiles subtracted",
            [["-" + kind, *more, "-base", base, path] for kind in TYPES for more in ([], ["-cum"], ["-lines"])
             for path, base in ((every[0], every[1]), (every[1], every[0]), (every[0], every[0]))])
    if "C++" in made:
        compare(tool, "expressions", [["-alloc_space", f"-focus={expression}", made["C++"]]
                                      for expression in EXPRESSIONS])
    for seed in range(12):
        path = generated(directory, seed)
        part = [["-" + kind, *more, path] for kind in TYPES for more in OPTIONS]
        compare(tool, f"generated profile {seed}", part[seed % 4 :: 4])
    first, second = generated(directory, 100), generated(directory, 101)
    compare(tool, "generated profiles subtracted", [["-" + kind, "-base", first, second] for kind in TYPES])


def mangled_names(tool, directory):
    """Names are made readable as pprof makes them: those of libstdc++ and of a program of our own, and some odd ones."""
    found = set()
    for path in (os.path.join(directory, "shapes"), subprocess.getoutput("g++ -print-file-name=libstdc++.so.6")):
        for option in ([], ["-D"]):
            listed = subprocess.run(["nm", *option, path], capture_output=True, text=True, check=False).stdout if shutil.which("nm") else ""
            found |= {line.split()[2].split("@")[0] for line in listed.splitlines() if len(line.split()) == 3}
    found = sorted(name for name in found if name.startswith("_Z"))
    odd = ["_ZN3fooC2Ev", "_ZN1a1bILi5EE1cEv", "_ZlsRSoRK1A", "_ZN1AltERKS_", "_ZN1AcvT_IiEEv", "_RNvC6_123foo3bar",
           "_ZN4core3fmt9Formatter3pad17h0123456789abcdefE", "plain<int>::name(char)", "a.<b>", "x::y(int)::z", "vector<int>::at",
           "operator<", "a<b", "f(g", "n::operator()(int)", "_ZNKSt8functionIFivEEclEv", "_ZZN3geo7closureEiENKUlvE_clEv",
           "_ZN12_GLOBAL__N_13fooEv.constprop.0", "_GLOBAL__sub_I__ZN1a1bEv"]
    maker = toolkit.Maker()
    for i, name in enumerate(found + odd):
        # A value of its own for each, so that no two rows change places.
        maker.sample([maker.location(0, i + 1, [(maker.function(name), 0)])], [1000 + i])
    path = os.path.join(directory, "mangled.pb.gz")
    maker.write(path)
    ours, theirs = cprof_top("-nodefraction=0", path, symbolize="yes"), pprof_top(tool, "-nodefraction=0", path, symbolize="")
    # "[abi:cxx11]" and the like are in both; the rest is compared row by row.
    rows = [set(text.splitlines()[3:]) for text in (ours, theirs)]
    tap.ok(len(rows[0]) > 10 and rows[0] == rows[1], f"{len(found) + len(odd)} mangled names are shown as by pprof",
           *[f"ours only: {row}" for row in sorted(rows[0] - rows[1])[:8]], *[f"pprof only: {row}" for row in sorted(rows[1] - rows[0])[:8]])


def known(directory):
    """What holds without pprof to compare with."""
    raw = os.path.join(directory, "known.pb.gz")
    toolkit.record([os.path.join(WORKLOADS, "message_batch"), "growing"], raw)
    text = toolkit.cprof("top", "-alloc_space", "-unit=kB", raw).stdout
    row = next((line.split() for line in text.splitlines() if line.endswith("build_message_batch_growing")), None)
    tap.equal(row, ["27868.75kB", "100%", "100%", "27868.75kB", "100%", "build_message_batch_growing"],
              "a profile without names is looked up, and the figures are the workload's")
    before = open(raw, "rb").read()
    tap.ok(open(raw, "rb").read() == before, "and the file stays as it is")
    dashes = [toolkit.cprof("top", option, raw).stdout for option in ("-alloc_space", "--alloc_space")]
    tap.ok(dashes[0] == dashes[1] != "", "options with one dash or two")
    cut = [toolkit.cprof("top", *option, raw).stdout for option in (["-n", "2"], ["-nodecount=2"], ["--nodecount", "2"])]
    tap.ok(len(set(cut)) == 1 and "Showing top 2 nodes out of " in toolkit.cprof("top", "-n2", "-alloc_space", raw).stdout, "-n")
    with open(raw, "rb") as file:
        piped = toolkit.cprof("top", "-alloc_space", "-", stdin=file).stdout
    tap.equal(piped, dashes[0], "from standard input")

    slow = os.path.join(directory, "slow.pb.gz")
    maker = toolkit.Maker()
    long_name = "std::vector<" * 400 + "int" + ">" * 400 + "::at"
    maker.sample([maker.location(0, 1, [(maker.function(long_name, "x"), 1)]),
                  maker.location(0, 2, [(maker.function("main"), 1)])], [1])
    maker.head(7, "(((a*)*)*b)|((<[^<>]*(<.*>)*)*x)|(.*)*y")
    maker.write(slow)
    began = time.monotonic()
    result = toolkit.cprof("top", slow)
    tap.ok(result.returncode == 0 and time.monotonic() - began < 10, "expressions that make others stumble take no time")


def too_large(directory):
    """Expressions that the C library's regcomp would make gigabytes of, or fall over."""
    path = os.path.join(directory, "large.pb.gz")
    for expression, why in (
        ("((a{1000}){1000}){1000}", "nested repeats"), ("(a{10}){101}", "nested repeats"), ("(a{2,}){501}", "nested repeats"),
        ("a{1001}", "more than 1000 times"), ("a{99999999999}", "more than 1000 times"), ("a**", "a repeat itself"),
        ("a{2}{3}", "a repeat itself"), ("a*??", "a repeat itself"), ("(" * 25 + "a" + ")+" * 25, "too large"),
        ("a?" * 4000, "too large"), ("(a?b?c?d?){1000}", "too large"), ("(" * 60000 + "a" + ")" * 60000, "nested too deeply"),
        (r"(\b|\B)" * 25, "too many of"), (r"(\b|\B){25}", "too many of"), ("(" * 255 + r"\b|" * 30 + "a" + ")*" * 255, "too many of"), (r"\b(a|b)*" * 256, "too many of"), (r"\b" * 5000, "too many of"), ("a)|(b", "don't match"),
    ):
        maker = toolkit.Maker()
        maker.sample([maker.location(0, 1, [(maker.function("leaf"), 1)]), maker.location(0, 2, [(maker.function("main"), 1)])], [1])
        maker.head(7, expression)
        maker.write(path)
        # Of memory that it must not come near to.
        limited = {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))}
        given = toolkit.cprof("top", "-focus", expression, path, **limited)
        brought = toolkit.cprof("top", path, **limited)
        tap.ok(given.returncode == 2 and why in given.stderr and not given.stdout and brought.returncode == 0 and
               "leaf" in brought.stdout and "drop_frames is not used: " in brought.stderr and why in brought.stderr,
               f"{expression[:24]}: {why}, given and in a profile's drop_frames", given.stderr[-200:], brought.stderr[-200:])
    for expression in ("(a{10}){100}", "a{1000}", "a{2,}?b", "(((a+)+)+)+", "a{0}b", "(a{0}){1000}", "é{2}", "|".join(["^leaf$"] * 100)):
        result = toolkit.cprof("top", "-focus", expression, path)
        tap.ok(result.returncode == 0, f"{expression[:24]}: is understood", result.stderr)


def enormous(directory):
    """Sums beyond 2^63 - 1 are held there, also while files are added up and taken away."""
    path, other = os.path.join(directory, "enormous.pb.gz"), os.path.join(directory, "negative.pb.gz")
    for name, value in ((path, 2**63 - 1), (other, -(2**63))):
        maker = toolkit.Maker()
        function = maker.function("main")
        for address in (1, 2):
            maker.sample([maker.location(0, address, [(function, address)])], [value])
        maker.write(name)
    for title, arguments in (("one file", [path]), ("added up", [path, path]), ("taken away", ["-base", other, path])):
        row = toolkit.cprof("top", "-unit=B", *arguments).stdout.splitlines()[-1].split()
        tap.equal(row, ["9223372036854775808B", "100%", "100%", "9223372036854775808B", "100%", "main"], f"sums are held at the limit: {title}")


def errors(directory):
    good, bad, odd = (os.path.join(directory, name) for name in ("e.pb.gz", "bad.pb.gz", "odd.pb.gz"))
    toolkit.record([os.path.join(WORKLOADS, "message_batch"), "growing"], good)
    with open(bad, "wb") as file:
        file.write(zlib.compress(b"no profile"))
    toolkit.Maker([("cpu", "nanoseconds")]).write(odd)
    for title, arguments, code in (
        ("no file", [], 2), ("an unknown option", ["-nonsense", good], 2), ("no number of rows", ["-n", "some", good], 2),
        ("no fraction", ["-nodefraction", "2", good], 2), ("no unit", ["--unit", "parsec", good], 2), ("no unit either", ["-unit=", good], 2),
        ("no expression", ["-focus", "(", good], 2),
        ("an expression of another language", ["-focus", "(?=a)", good], 2), ("a file that isn't there", ["/nonexistent"], 3),
        ("a file that is no profile", [bad], 3), ("a type that isn't there", ["-sample_index", "cpu", good], 3),
        ("profiles of different types", ["-base", odd, good], 3), ("a type of Go's that isn't there", ["-alloc_space", odd], 3),
    ):
        result = toolkit.cprof("top", *arguments)
        lines = [line for line in result.stderr.splitlines() if not line.startswith("Try ")]
        tap.ok(result.returncode == code and result.stdout == "" and len(lines) == 1 and lines[0].startswith("cprof: "),
               f"{title}: exit status {code} and one line", result.returncode, result.stderr, result.stdout)
    path = labelled(directory, "labelled", 1)
    every = {f"f{i}" for i in range(10)}
    for option, functions in (("tagfocus=fork", {"f1"}), ("tagignore=fork", every - {"f1"}), ("tagfocus=kind=^b$", {"f3", "f4"})):
        rows = toolkit.cprof("top", f"-{option}", "-nodefraction=0", path).stdout.splitlines()
        tap.equal({row.split()[-1] for row in rows} & every, functions, f"-{option}: the samples with such labels")
    result = toolkit.cprof("top", "-tagfocus", "nothing", path)
    tap.ok(result.returncode == 0 and "tagfocus matched nothing" in result.stderr, "a label that isn't there is told", result.stderr)
    for tag, functions in (("bytes=16", {"f5"}), ("1:15", {"f6"}), ("2:", {"f5"}), ("bytes=16b", {"f5"}), ("fork=1", set())):
        rows = toolkit.cprof("top", "-tagfocus", tag, "-nodefraction=0", path).stdout.splitlines()
        tap.equal({row.split()[-1] for row in rows} & every, functions, f"-tagfocus {tag}: numbers, in the label's own unit if none is said")
    for tag, why in (("4parsec:", "unit is not known"), ("bytes=1:4kb", "the other has none"), ("fork,(", "parentheses")):
        result = toolkit.cprof("top", "-tagignore", tag, path)
        tap.ok(result.returncode == 2 and why in result.stderr and not result.stdout, f"-tagignore {tag}: {why}", result)
    result = toolkit.cprof("top", "-focus", "nothing_is_called_that", good)
    tap.ok(result.returncode == 0 and "focus matched nothing" in result.stderr, "a focus on nothing is told", result.stderr)
    for first, second in (("-cum", "-flat"), ("-lines", "-files"), ("-files", "-functions"), ("-inuse_space", "-alloc_space")):
        result = toolkit.cprof("top", first, first, second, good)
        tap.equal((result.returncode, result.stdout, result.stderr.splitlines()[0]),
                  (2, "", f"cprof: {second}: contradicts {first}"), f"{first} {second}: refused")
    made = os.path.join(directory, "made.pb.gz")
    types = (("alloc_space", "bytes"), ("inuse_space", "bytes"))
    for values, option, said in (((10, 0), [], "nothing is in use; -alloc_space shows what was allocated"),
                                 ((10, 0), ["-alloc_space"], None), ((10, 5), [], None), ((0, 0), [], None),
                                 ((10, 0), ["-base", made], None), ((), [], "holds no sample; CPROF_RATE=1 records every allocation")):
        maker = toolkit.Maker(types)
        if values:
            maker.sample([maker.location(0, 1, [(maker.function("main"), 1)])], values)
        maker.head(12, 524288)
        maker.head(14, "inuse_space")
        maker.write(made)
        result = toolkit.cprof("top", *option, made)
        tap.equal((result.returncode, result.stderr), (0, f"cprof: {made}: {said}\n" if said else ""),
                  f"{values} {' '.join(option[:1])}: {said or 'no hint'}")


def main():
    tool = toolkit.pprof_tool()
    with tempfile.TemporaryDirectory() as directory:
        known(directory)
        errors(directory)
        enormous(directory)
        too_large(directory)
        if tool:
            made = profiles(directory)
            tags(tool, directory)
            compared(tool, directory, made)
            mangled_names(tool, directory)
        else:
            tap.skip("the same as pprof", "no go")
    tap.done()


if __name__ == "__main__":
    main()
