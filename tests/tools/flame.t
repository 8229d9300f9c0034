#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""cprof flame: stacks and sums are the profile's in each form, the page and the picture are well-formed and need
nothing from elsewhere, and what a profile says stays text in them."""
import collections
import html.parser
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True
from toolkit import Maker, cprof, pprof, record, symbolize, under  # noqa: E402
import toolkit  # noqa: E402
import tap  # noqa: E402

TYPES = ("alloc_objects", "alloc_space", "inuse_objects", "inuse_space")
SVG = "{http://www.w3.org/2000/svg}"
VOID = {"meta", "link", "br", "img", "input", "hr"}
HOSTILE = ["</script><script>alert(1)</script>", "<!--", "]]>", "a\"b'c\\d", "line\u2028and\u2029paragraph",
           "x&amp;<y>", "semi;colon 5",
           "new\nline\ttab\x01\x7f\0zero", "{{end}}{{profile}}", "\u202eright-to-left \U0001f525",
           "<img src=x onerror=alert(1)>", "__proto__", "a" * 100000]


class Page(html.parser.HTMLParser):
    """What a page is made of; faults in .faults."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open, self.faults, self.scripts, self.attributes = [], [], [], []
        self.title = ""
        self.feed(text)
        self.close()
        if self.open:
            self.faults.append(f"left open: {self.open}")

    def handle_starttag(self, tag, attributes):
        self.attributes += [(tag, name, value or "") for name, value in attributes]
        if tag not in VOID:
            self.open.append(tag)
        if tag == "script":
            self.scripts.append([dict(attributes).get("type"), ""])

    def handle_startendtag(self, tag, attributes):
        self.attributes += [(tag, name, value or "") for name, value in attributes]

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.faults.append(f"</{tag}> at {self.getpos()}")

    def handle_data(self, data):
        if self.open[-1:] == ["script"]:
            self.scripts[-1][1] += data
        elif self.open[-1:] == ["title"]:
            self.title += data

    def profile(self):
        return json.loads(next(text for kind, text in self.scripts if kind == "application/json"))


def read_page(path):
    with open(path, encoding="utf-8", newline="") as file:
        return file.read()


def stacks_of_page(data, sample_type):
    """{(names, the root first): value}, as the page's script reads the tree."""
    t = [one["name"] for one in data["types"]].index(sample_type)
    stacks, path = collections.Counter(), []
    for i, own in enumerate(data["own"][t]):
        if i > 0:
            depth = len(path) + data["deeper"][i - 1]
            path = path[: depth - 1] + [data["texts"][data["frames"][3 * data["frame"][i - 1]]]]
        if own:
            stacks[tuple(path)] += own
    return stacks


def stacks_of_lines(text):
    stacks = collections.Counter()
    for line in text.split("\n")[:-1]:
        stack, value = line.rsplit(" ", 1)
        stacks[() if stack == "[no stack]" else tuple(stack.split(";"))] += int(value)
    return stacks


def stacks_of_profile(profile, sample_type):
    stacks = collections.Counter()
    for sample in profile.samples:
        if sample.values[sample_type]:
            stacks[tuple(reversed(profile.pruned(sample)))] += sample.values[sample_type]
    return stacks


def make(path, stacks):
    """A profile of {(names, the root first): values}."""
    maker, functions = Maker(), {}
    mapping = maker.mapping("/usr/bin/made", 0x1000, 0x7fffffff)
    for stack in stacks:
        for name in stack:
            if name not in functions:
                function = maker.function(name, filename=name + ".c")
                functions[name] = maker.location(mapping, 0x1000 + len(functions), [(function, len(functions) + 1)])
    for stack, values in stacks.items():
        maker.sample([functions[name] for name in reversed(stack)], values)
    maker.write(path)
    return path


def check_page(path, what):
    """The page is well-formed and asks for nothing; its data."""
    text = read_page(path)
    page = Page(text)
    tap.equal(page.faults, [], f"{what}: every element is closed where it should be")
    tap.equal([kind for kind, _ in page.scripts], ["application/json", None], f"{what}: the profile and one script")
    links = [found for found in page.attributes if found[1] in ("src", "href", "action", "srcset", "data", "style")
             or found[1].startswith("on")]
    tap.equal(links, [("link", "href", "data:,")], f"{what}: no links, no handlers")
    template = text.replace(page.scripts[0][1], "")
    risky = r"https?:[^\s\"']*|url\([^)]*\)|@import|\bfetch\(|XMLHttpRequest|innerHTML|\beval\("
    tap.equal(re.findall(risky, template), [], f"{what}: no addresses, nothing that loads or makes markup of texts")
    tap.ok("<" not in page.scripts[0][1] and "\u2028" not in page.scripts[0][1], f"{what}: no markup in the data")
    return page


def check_forms(place):
    raw, path = os.path.join(place, "raw.pb.gz"), os.path.join(place, "graph.pb.gz")
    result = record([os.path.join(under.ROOT, "build", "workloads", "graph"), "hashset"], raw)
    tap.equal(result.returncode, 0, "a program is recorded")
    symbolize(raw, path)
    profile = pprof.load(path, symbolize=False)
    for name in TYPES:
        wanted = stacks_of_profile(profile, name)
        lines = cprof("flame", "--collapsed", f"-{name}", path)
        tap.equal(stacks_of_lines(lines.stdout), wanted, f"--collapsed -{name}: the profile's stacks and values")
    wanted = stacks_of_profile(profile, "alloc_space")
    tap.ok(any("graph_add_edge" in stack for stack in wanted), "with names", wanted)
    result = cprof("flame", raw)
    tap.equal((result.returncode, result.stdout, result.stderr), (0, raw + ".html\n", ""), "a page, by the file's name")
    data = check_page(raw + ".html", "page").profile()
    for name in TYPES:
        tap.equal(stacks_of_page(data, name), stacks_of_profile(profile, name), f"page: {name}, with names looked up")
    tap.equal([one["sum"] for one in data["types"]], [str(profile.total(name)) for name in TYPES], "page: sums")
    tap.equal(data["types"][data["type"]]["name"], profile.default_sample_type, "page: begins with the default type")
    tap.equal(data["comments"], profile.comments, "page: the comment")
    tap.ok(any(more % 2 for more in data["more"]), "page: inlined frames are marked")
    places = {(data["texts"][data["frames"][3 * f + 1]], line) for f, line in zip(data["frame"], data["line"])}
    tap.ok(any(name.endswith("graph.c") and line > 0 for name, line in places), "page: files and lines", places)
    for first, second in (("--svg", "--collapsed"), ("--collapsed", "--svg"), ("--svg", "--nodes=9"),
                          ("-alloc_space", "-inuse_space"), ("-alloc_space", "-sample_index=1")):
        result = cprof("flame", first, first, second, path)
        tap.equal((result.returncode, result.stdout, result.stderr.splitlines()[0]),
                  (2, "", f"cprof: {second.partition('=')[0]}: contradicts {first}"),
                  f"{first} {second}: refused")
    result = cprof("flame", "--svg", "-alloc_space", path)
    tap.equal((result.returncode, result.stdout), (0, path + ".svg\n"), "a picture")
    tree = ElementTree.parse(path + ".svg").getroot()
    titles = [element.text for element in tree.iter(SVG + "title")]
    tap.ok(any(re.match(r"graph_add_edge\n[\d.]+kB \([\d.]+%\)\n.*graph\.c:\d+", title) for title in titles),
           "picture: function, value, part and place of each frame", titles)


def check_hostile(place):
    stacks = {(name,): [i + 1] for i, name in enumerate(HOSTILE)}
    stacks[tuple(HOSTILE)] = [1000]
    name = "x\"><img src=x onerror=alert(1)> <title>&lt;.pb.gz"
    path = make(os.path.join(place, name), stacks)
    cprof("flame", "--symbolize", "no", path)  # or they would be shortened, being no names of functions
    page = check_page(path + ".html", "hostile names")
    tap.equal(page.title, name, "the title is the file's name")
    tap.equal(stacks_of_page(page.profile(), "alloc_space"), {stack: values[0] for stack, values in stacks.items()},
              "names are what they were")
    cprof("flame", "--svg", "--symbolize", "no", path)
    with open(path + ".svg", encoding="utf-8") as file:
        text = file.read()
    tree = ElementTree.fromstring(text)
    tags = {element.tag.replace(SVG, "") for element in tree.iter()}
    tap.equal(tags, {"svg", "rect", "text", "g", "title"}, "picture: no elements but its own")
    attributes = {name for element in tree.iter() for name in element.attrib}
    tap.ok(not any(name.startswith("on") or "href" in name for name in attributes), "picture: no links, no handlers",
           attributes)
    lines = cprof("flame", "--collapsed", "--symbolize", "no", path).stdout.split("\n")[:-1]
    tap.equal((len(lines), sum(int(line.rsplit(" ", 1)[1]) for line in lines)),
              (len(stacks), sum(values[0] for values in stacks.values())), "a line each, whatever is in the names")
    text = cprof("flame", "-o", "-", path).stdout
    tap.ok(text.startswith("<!DOCTYPE html>"), "-o -: to standard output")


def check_selection(place):
    old = make(os.path.join(place, "old.pb.gz"), {("main", "a"): [100], ("main", "b"): [50], ("main", "same"): [7]})
    new = make(os.path.join(place, "new.pb.gz"), {("main", "a"): [300], ("main", "b"): [20], ("main", "same"): [7],
                                                  ("main", "new"): [5]})
    lines = stacks_of_lines(cprof("flame", "--collapsed", "--base", old, new).stdout)
    tap.equal(lines, {("main", "a"): 200, ("main", "b"): -30, ("main", "new"): 5}, "--base: what changed")
    result = cprof("flame", "--base", old, "-o", new + ".html", new)
    data = Page(read_page(new + ".html")).profile()
    tap.equal((result.stdout, data["base"], data["types"][0]["sum"]), ("", old, "175"), "--base: the page says so")
    lines = stacks_of_lines(cprof("flame", "--collapsed", old, new).stdout)
    tap.equal(lines[("main", "a")], 400, "two files are added up")
    lines = stacks_of_lines(cprof("flame", "--collapsed", "--focus", "^(a|b)$", "--ignore", "^b$", new).stdout)
    tap.equal(lines, {("main", "a"): 300}, "--focus and --ignore")
    check_labels(place)
    cprof("flame", "--focus", "a</script>", new)
    notes = check_page(new + ".html", "a note").profile()["notes"]
    tap.ok(any("a</script>" in note for note in notes), "what is left out is said", notes)


BUILDS = """#include <stdlib.h>
#include <string.h>
%s
static void *volatile kept;
__attribute__((noinline)) static void same(void) { kept = malloc(1000); }
__attribute__((noinline)) static void grown(void) { kept = malloc(%d); }
static inline __attribute__((always_inline)) void inlined(void) { kept = malloc(70); kept = strdup("a word"); }
int main(void) { same(); grown(); inlined(); return 0; }
"""


def check_builds(place):
    """A program that was built in two directories, with one change: only that is shown, as by cprof top."""
    paths = []
    for name, more, size in (("before", "", 100), ("after", "/* a line more */\n\n", 300)):
        source = os.path.join(place, name, "prog.c")
        os.mkdir(os.path.dirname(source))
        with open(source, "w", encoding="utf-8") as file:
            file.write(BUILDS % (more, size))
        subprocess.run([os.environ.get("CC", "gcc"), "-O2", "-g", "-o", source[:-2], source], check=True)
        record([source[:-2]], source + ".raw")
        symbolize(source + ".raw", source + ".pb.gz")
        paths.append(source + ".pb.gz")
    old, new = paths
    changed = stacks_of_lines(cprof("flame", "--collapsed", "-alloc_space", "--base", old, new).stdout)
    tap.equal({stack[-1]: value for stack, value in changed.items()}, {"grown": 200}, "two builds: --collapsed has the change alone")
    table = cprof("top", "-alloc_space", "-nodefraction=0", "-unit=B", "--base", old, new).stdout
    tap.equal(re.findall(r"^ +(-?[1-9]\d*B) .* (\S+)$", table, re.M), [("200B", "grown")], "two builds: as cprof top has it")
    page = os.path.join(place, "builds.html")
    cprof("flame", "-alloc_space", "--base", old, "-o", page, new)
    data = Page(read_page(page)).profile()
    tap.equal({stack[-1]: value for stack, value in stacks_of_page(data, "alloc_space").items()}, {"grown": 200}, "two builds: the page, too")
    names = [data["texts"][text] for text in data["frames"][::3]]
    tap.ok("inlined" in names and len(names) == len(set(names)), "two builds: a function is one row of its table", names)
    places = {data["texts"][text] for text in data["frames"][1::3]}
    tap.ok(new.replace(".pb.gz", "") in places and old.replace(".pb.gz", "") not in places, "two builds: sources are the new one's", places)
    cprof("flame", "--svg", "-alloc_space", "--base", old, "-o", page + ".svg", new)
    titles = [element.text.split("\n")[0] for element in ElementTree.parse(page + ".svg").getroot().iter(SVG + "title")]
    tap.ok(titles.count("grown") == 1 and "same" not in titles, "two builds: the picture, too", titles)
    added = stacks_of_lines(cprof("flame", "--collapsed", "-alloc_space", old, new).stdout)
    lines = cprof("flame", "--collapsed", "-alloc_space", old, new).stdout.splitlines()
    tap.ok({stack[-1]: value for stack, value in added.items()}.get("same") == 2000 and len(lines) == len(added),
           "two builds added up: a line for each stack", lines)


def check_saved_difference(place):
    """What pprof -proto -base makes: one file with what was subtracted in it."""
    maker, path = Maker(), os.path.join(place, "difference.pb.gz")
    for name, sign in (("new", 1), ("old", -1)):
        mapping = maker.mapping(f"/{name}/prog", 0x1000, 0x2000)
        for i, function in enumerate(("f", "g")):
            frame = maker.function(function, filename=f"/{name}/prog.c")
            maker.sample([maker.location(mapping, 0x1000 + i, [(frame, i + 1)])], [sign * (10 + (name == "new") * i)])
    maker.write(path)
    tap.equal(cprof("flame", "--collapsed", path).stdout, "g 1\n", "a difference that was saved: what changed")


def check_labels(place):
    """What a fork brought along, left out."""
    maker, path = Maker(), os.path.join(place, "forked.pb.gz")
    frame = maker.location(0, 1, [(maker.function("main"), 1)])
    maker.sample([frame], [1])
    maker.sample([frame], [20], [("inherited", "fork")])
    maker.write(path)
    for option, value in (("--tagignore", 1), ("--tagfocus", 20)):
        tap.equal(stacks_of_lines(cprof("flame", "--collapsed", option, "fork", path).stdout), {("main",): value}, option)
        cprof("flame", option, "fork", path)
        notes = Page(read_page(path + ".html")).profile()["notes"]
        tap.ok(any("label that matches: fork" in note for note in notes), f"{option}: the page says so", notes)


def check_extremes(place):
    deep = make(os.path.join(place, "deep.pb.gz"), {tuple(f"f{i}" for i in range(50000)): [3]})
    for form in ("--svg", "--collapsed", "--symbolize=no"):
        result = cprof("flame", form, "-o", os.path.join(place, "deep.out"), deep)
        tap.equal((result.returncode, result.stderr), (0, ""), f"a stack of 50,000 frames: {form}")
    empty = make(os.path.join(place, "empty.pb.gz"), {})
    for form in ("--svg", "--collapsed", "--symbolize=no"):
        tap.equal(cprof("flame", form, "-o", "-", empty).returncode, 0, f"no samples: {form}")
    wide = make(os.path.join(place, "wide.pb.gz"), {("main", f"f{i}", f"g{i}"): [i] for i in range(1, 400)})
    cprof("flame", "--nodes", "100", wide)
    data = Page(read_page(wide + ".html")).profile()
    stacks = stacks_of_page(data, "alloc_space")
    tap.ok(100 <= len(data["frame"]) <= 110, "--nodes 100: so many, and those for the rest", len(data["frame"]))
    tap.equal(sum(stacks.values()), sum(range(1, 400)), "nothing is lost")
    tap.equal({name: value for name, value in stacks.items() if "(smaller frames)" not in name},
              {("main", f"f{i}", f"g{i}"): i for i in range(400 - 49, 400)}, "the largest are kept")
    tap.ok(any("folded" in note for note in data["notes"]), "and it is said", data["notes"])
    large = make(os.path.join(place, "large.pb.gz"), {("a",): [2**63 - 1], ("b",): [2**62]})
    result = cprof("flame", large)
    data = Page(read_page(large + ".html")).profile()
    tap.equal(data["types"][0]["sum"], str(2**63 - 1), "sums stay at the largest number")


def check_inputs_stay(place):
    """The only copy of a profile is not replaced by a page."""
    path = make(os.path.join(place, "only.pb.gz"), {("a",): [1]})
    other = make(os.path.join(place, "other"), {("a",): [1]})
    link, beside = os.path.join(place, "link"), other + ".html"
    os.symlink(path, link)
    shutil.copy(path, beside)
    before = toolkit.read(path)
    for title, arguments in (("the input", ["-o", path, path]), ("a link to the second input", ["-o", link, other, path]),
                             ("the base", ["--svg", "-o", path, "--base", link, other]), ("the base, by default", ["--base", beside, other])):
        result = cprof("flame", *arguments)
        tap.ok(result.returncode == 2 and "would be replaced" in result.stderr and result.stderr.count("\n") == 1 and not result.stdout,
               f"output over {title}: refused", result)
    tap.ok(toolkit.read(path) == before == toolkit.read(beside), "and all inputs are as they were")
    tap.equal(cprof("flame", "-o", "/dev/null", "--base", "/dev/null", path).returncode, 3, "a device may be both")


def check_errors(place):
    path = make(os.path.join(place, "good.pb.gz"), {("a",): [1]})
    for arguments, code, message in ((["flame"], 2, "no file is given"),
                                     (["flame", "--nodes", "x", path], 2, "not a number"),
                                     (["flame", "--focus", "(", path], 2, "not a regular expression"),
                                     (["flame", path + ".none"], 3, "No such file"),
                                     (["flame", "-inuse_space", path], 3, "no sample type inuse_space"),
                                     (["flame", "-o", "/nowhere/x.html", path], 4, "No such file"),
                                     (["flame", "-o", "/dev/full", path], 4, "No space left")):
        result = cprof(*arguments)
        tap.ok(result.returncode == code and message in result.stderr and not result.stdout,
               f"{' '.join(arguments[1:-1] or arguments)}: {code}", result)


PLACE = tempfile.mkdtemp(prefix="cprof-flame.")
try:
    check_forms(PLACE)
    check_hostile(PLACE)
    check_selection(PLACE)
    check_builds(PLACE)
    check_saved_difference(PLACE)
    check_extremes(PLACE)
    check_inputs_stay(PLACE)
    check_errors(PLACE)
finally:
    shutil.rmtree(PLACE)
tap.done()
