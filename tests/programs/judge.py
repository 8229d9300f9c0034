# SPDX-License-Identifier: Apache-2.0
"""Do the runs of a case hold what they should? Each function reports by tap."""
import collections
import dataclasses
import fnmatch
import math
import re

import matrix
import pprof
import tap
import under

# So many bytes may a killed process have allocated since its threads' last samples.
LATE = 20 * matrix.RATE
# In the comment of a program that brings its own malloc.
UNSEEN = "comes before libcprof.so: what it serves is not seen"
# Estimates may be so many standard deviations off; and by what so many samples stand for, where there are few of them: a process
# that allocates as much and has none is one of 5e8.
DEVIATIONS, SAMPLES = 6, 20


@dataclasses.dataclass
class Totals:
    """Of all profiles of a process: it may have run several programs, one after the other."""
    names: dict          # {executable: calls in its profile}
    bytes: int = 0
    calls: int = 0
    inherited: int = 0   # blocks
    inuse: int = 0       # blocks, those inherited too
    sampled: int = 0     # bytes, by the samples
    sampled_calls: int = 0
    unseen: int = 0      # profiles that say that the program's own malloc is not seen
    variance: float = 0  # of the bytes by the samples, as these tell

    def add(self, name, profile, rate):
        space, calls = under.exact(profile)
        self.names[name] = self.names.get(name, 0) + calls
        self.unseen += UNSEEN in " ".join(profile.comments)
        self.bytes, self.calls = self.bytes + space, self.calls + calls
        inherited = re.search(r"inherited at fork alloc_space=\d+ alloc_objects=(\d+)", " ".join(profile.comments))
        self.inherited += int(inherited.group(1)) if inherited else 0
        for sample in profile.samples:
            self.inuse += sample.values["inuse_objects"]
            if "inherited" in sample.labels:
                continue
            objects, space = sample.values["alloc_objects"], sample.values["alloc_space"]
            self.sampled_calls += objects
            self.sampled += space
            if rate > 1 and objects and space:
                size = space / objects
                seen = -math.expm1(-size / rate)
                self.variance += objects * size * size * (1 - seen) / seen


def totals(run):
    """{number of a process: Totals}"""
    rate = int(run.way.settings.get("RATE", matrix.RATE))
    sums = collections.defaultdict(lambda: Totals({}))
    for path in run.profiles:
        sums[matrix.process(path)].add(matrix.short_name(path), pprof.load(path, symbolize=False), rate)
    return sums


def matching(sums, pattern):
    """Of the processes that ran such an executable."""
    return [total for total in sums.values() if fnmatch.filter(total.names, pattern)]


def figures(case, sums):
    """What runs of a steady case have in common."""
    return {pattern: sorted((total.calls, total.bytes) for total in matching(sums, pattern)) for pattern in case.executables}


def behaves(case, run, wanted):
    """As without the library, and nothing is left behind."""
    words = f"{case.name}, {run.way.words}"
    for name, got, want in zip(("exit status", "output", "errors"), run.outcome(), wanted):
        if got != want and isinstance(got, str):
            lines = [line for line in got.splitlines() if line not in want.splitlines()]
            gone = [line for line in want.splitlines() if line not in got.splitlines()]
            tap.ok(False, f"{words}: the same {name}", "new:", *lines[:20], "missing:", *gone[:20])
        else:
            tap.equal(got, want, f"{words}: the same {name}")
    tap.equal(run.left_running, [], f"{words}: nothing is left running")


def profiled(case, run):
    """The profiles that there must be are, and all are valid."""
    words, names = f"{case.name}, {run.way.words}", run.names()
    got = {pattern: sum(names[name] for name in fnmatch.filter(names, pattern)) for pattern in case.executables}
    few = {pattern: count for pattern, count in got.items() if count < case.executables[pattern]}
    tap.equal(few, {}, f"{words}: each process has its profile")
    tap.equal([name for name in case.unseen if name in names], [], f"{words}: and no others")
    tap.equal(run.strangers, [], f"{words}: nothing else is there")
    strange = [name for name in run.recovered if not any(fnmatch.fnmatch(name, pattern) for pattern in case.killed)]
    tap.equal(strange, [], f"{words}: no process ended without one")
    wrong = under.check(run.profiles) if run.profiles else ""
    return tap.equal(wrong, "", f"{words}: and they are valid")


def adds_up(case, run, sums):
    """The samples to the totals in the comments: at rate 1 exactly, else within the error."""
    words, wrong = f"{case.name}, {run.way.words}", []
    for total in sums.values():
        bound = 0
        if "RATE" not in run.way.settings:
            bound = DEVIATIONS * math.sqrt(total.variance) + SAMPLES * matrix.RATE
        elif total.sampled_calls != total.calls:
            wrong.append(f"{sorted(total.names)}: {total.sampled_calls} calls in the samples, {total.calls} in the comments")
        if abs(total.sampled - total.bytes) > bound:
            wrong.append(f"{sorted(total.names)}: {total.sampled} bytes in the samples, {total.bytes} in the comments, "
                         f"which is more than {bound:.0f} off")
    tap.equal(wrong[:10], [], f"{words}: the samples add up to the exact totals")
    full = [pattern for pattern in case.executables
            if any(total.names[name] for total in sums.values() for name in fnmatch.filter(total.names, pattern))]
    tap.equal(sorted(full), sorted(set(case.executables) - set(case.silent)), f"{words}: nothing is empty that should not be")
    mute = [pattern for pattern in case.silent if not any(total.unseen for total in matching(sums, pattern))]
    tap.equal(mute, [], f"{words}: where all is unseen the comment says why")


def witnessed(case, run, sums):
    """Calls, bytes and blocks in use of each process are what the witness counted at the same time."""
    words, wrong, counts = f"{case.name}, {run.way.words}", [], run.counts()
    for pid in sorted(set(counts) | set(sums)):
        calls, space, frees = counts[pid]
        total = sums[pid]
        got, want = [total.calls, total.bytes], [calls, space]
        if "RATE" in run.way.settings:
            late = max([0, *(n for pattern, n in case.frees_late.items() if fnmatch.filter(total.names, pattern))])
            inuse = total.inuse - total.inherited
            got, want = [*got, inuse], [*want, max(calls - frees, min(calls - frees + late, inuse))]
        # Of a process that was killed the totals are those at each thread's last sample.
        late = "RATE" not in run.way.settings and set(total.names) & set(run.recovered)
        unknown = case.bare and (not total.names or any(fnmatch.filter(total.names, pattern) for pattern in case.bare))
        if got != want and not (late and got <= want and space - total.bytes < LATE) and not (unknown and got <= want):
            wrong.append(f"{pid} {sorted(total.names)}: {got} in the profiles, {want} by the witness")
    tap.equal(wrong[:10], [], f"{words}: calls, bytes and what is in use are the witness's")
