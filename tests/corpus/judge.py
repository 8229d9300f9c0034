# SPDX-License-Identifier: Apache-2.0
"""Do the profiles that a run of a case left hold what the case's header says?"""
import glob
import os
import re
import stat
import subprocess

import pprof

TYPES = ("alloc_objects", "alloc_space", "inuse_objects", "inuse_space")
KEYWORDS = {"exit", "stdout", "timeout", "timing", "func", "under", "sampled", "stack", "inline", "mapping", "profiles",
            "dumps", "duration", "snapshot", "unseen"}


class Symbols(pprof.ElfSymbols):
    """Of regular files: a name may be anything, and opening a pipe would wait for ever."""

    def __init__(self, path):
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise ValueError(f"{path}: not a file")
        super().__init__(path)


pprof.ElfSymbols = Symbols


def plain_name(name):
    """As it stands in the source: of a C++ function without namespace and parameters, without compilers' suffixes."""
    name = re.sub(r"\.(constprop|isra|part|cold)(\.\d+)*", "", name)
    mangled = re.match(r"_ZL?(\d+)", name)
    if mangled:
        start, length = mangled.end(), int(mangled.group(1))
        return name[start : start + length]
    return name.split("(")[0]


def fits(values, wanted):
    for value, want in zip(values, wanted):
        if want == "*":
            continue
        low, _, high = want.partition("..")
        if not int(low) <= value <= int(high or low):
            return False
    return True


class Read:
    """A profile, summed up once."""

    def __init__(self, path):
        self.path = path
        self.profile = pprof.load(path)
        self.cum = {}
        self.stacks = []
        for sample in self.profile.samples:
            names = [plain_name(name) for name in sample.stack]
            values = [sample.values[name] for name in TYPES]
            self.stacks.append(names)
            for name in set(names):
                total = self.cum.setdefault(name, [0, 0, 0, 0])
                for i, value in enumerate(values):
                    total[i] += value

    def exact(self, before="exact"):
        """(bytes, blocks) by the comment."""
        found = re.search(rf"{before} alloc_space=(\d+) alloc_objects=(\d+)", " ".join(self.profile.comments))
        return (int(found.group(1)), int(found.group(2))) if found else (0, 0)

    def holds(self, stack):
        for names in self.stacks:
            rest = iter(names)
            if all(wanted in rest for wanted in stack):
                return True
        return False


class Judge:
    def __init__(self, case, mode, started, scratch, checker):
        self.case, self.mode, self.started, self.checker = case, mode, started, checker
        self.paths = sorted(glob.glob(os.path.join(scratch, "prof*")))
        self.left_behind = glob.glob(os.path.join(scratch, ".cprof*"))
        self.all_recorded = mode != "default rate"
        self.deep = mode != "frame pointers" or case.frame_pointers()
        self.read = []
        self.faults = []

    def fault(self, text):
        self.faults.append(text)

    def judge(self):
        self.valid()
        if not self.faults:
            self.number()
            self.exact_totals()
            if self.all_recorded:
                self.mappings()
                self.figures("func")
                if self.deep:
                    self.figures("under")
                    self.stacks()
                    self.inlined()
            else:
                self.figures("sampled")
                self.not_less_than_known()
            self.duration()
        return self.faults

    def valid(self):
        if self.left_behind and not self.case.expect["snapshot"]:
            self.fault(f"left behind: {self.left_behind}")
        if not self.paths:
            return
        done = subprocess.run([self.checker, "check", *self.paths], capture_output=True, text=True, errors="replace",
                              check=False)
        if done.returncode:
            self.fault(f"cprof check: {done.stderr.strip()[:1000]}")
            return
        for path in self.paths:
            self.read.append(Read(path))
        for read in self.read:
            got = tuple(name for name, _ in read.profile.sample_types[:4])
            if got != TYPES:
                self.fault(f"sample types {got}")
            for sample in read.profile.samples:
                objects, space, used_objects, used_space = (sample.values[name] for name in TYPES)
                if min(sample.values.values()) < 0 or used_objects > objects or used_space > space:
                    self.fault(f"impossible values {sample.values} of {sample.stack[:4]}")
                    return
                if not set(sample.labels) <= {"bytes", "inherited"}:
                    self.fault(f"labels {sample.labels}")
                    return

    def number(self):
        for line in self.case.expect["profiles"] + self.case.expect["dumps"] * self.all_recorded:
            if not fits([len(self.read)], [line]):
                self.fault(f"{len(self.read)} profiles, wanted {line}")
        wants_one = any(self.case.expect[kind] for kind in ("func", "under", "stack", "sampled"))
        if wants_one and not self.read and "0 0 0 0" not in " ".join(self.case.expect["func"]):
            self.fault("no profile")

    def exact_totals(self):
        """The comment's totals: at rate 1 the sums of all samples."""
        if not self.all_recorded or self.case.expect["snapshot"]:
            return
        for read in self.read:
            exact = [a + b for a, b in zip(read.exact(), read.exact("inherited at fork"))]
            sums = [read.profile.total("alloc_space"), read.profile.total("alloc_objects")]
            if sums != exact:
                self.fault(f"{os.path.basename(read.path)}: samples add up to {sums}, the comment says {exact}")

    def figures(self, kind):
        for figures in self.case.figures(kind):
            got = [read.cum.get(figures.function, [0, 0, 0, 0]) for read in self.read] or [[0, 0, 0, 0]]
            if not any(fits(values, wanted) for values in got for wanted in figures.alternatives):
                self.fault(f"{figures.function}: {got[:5]}, wanted {figures.alternatives}")

    def not_less_than_known(self):
        """At any rate the comment's totals are exact, so no smaller than what one function is known to allocate."""
        for kind in ("func", "under"):
            for figures in self.case.figures(kind):
                wanted = figures.alternatives[0]
                if len(figures.alternatives) > 1 or not all(text.isdigit() for text in wanted[:2]):
                    continue
                objects, space = map(int, wanted[:2])
                exact = [read.exact() for read in self.read]
                if not any(bytes_ >= space and blocks >= objects for bytes_, blocks in exact):
                    self.fault(f"exact totals {exact[:5]}, less than {figures.function}'s")

    def stacks(self):
        for line in self.case.expect["stack"]:
            if not any(read.holds(line.split("<-")) for read in self.read):
                self.fault(f"no stack {line}")
        for line in self.case.expect["unseen"]:
            for read in self.read:
                if line in read.cum:
                    self.fault(f"{line} is in {os.path.basename(read.path)}")

    def inlined(self):
        """The debug information at a sample's addresses gives these functions, the innermost first."""
        for line in self.case.expect["inline"]:
            wanted = line.split("<-")
            if not any(self.expanded(read, wanted[-1]) == wanted for read in self.read):
                self.fault(f"no address with the inlined functions {line}")

    @staticmethod
    def expanded(read, outermost):
        for sample in read.profile.samples:
            for location in sample.locations:
                if plain_name(location.lines[-1].name) != outermost or not location.mapping:
                    continue
                offset = location.address - location.mapping.start + location.mapping.offset
                vaddr = pprof.ElfSymbols(location.mapping.path).vaddr(offset)
                done = subprocess.run(["addr2line", "-fie", location.mapping.path, hex(vaddr)], capture_output=True,
                                      text=True, check=True)
                return done.stdout.splitlines()[::2]
        return None

    def mappings(self):
        for line in self.case.expect["mapping"]:
            found = [m for read in self.read for m in read.profile.mappings if os.path.basename(m.path) == line]
            if not found or not found[0].build_id:
                self.fault(f"no mapping {line} with a build id")

    def duration(self):
        for line in self.case.expect["duration"]:
            for read in self.read:
                if not fits([read.profile.duration_nanos], [line]):
                    self.fault(f"duration_nanos {read.profile.duration_nanos}, wanted {line}")
                if abs(read.profile.time_nanos / 1e9 - self.started) > 5:
                    self.fault(f"time_nanos {read.profile.time_nanos}, started at {self.started}")
