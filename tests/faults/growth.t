#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Forks while another thread is in the middle of making the library's tables larger, or of copying the peak: its system call
for that is held up (inject.c) until the fork has happened. The child's profile is valid, has what it did itself, exactly, and what it
inherited, every block at its own stack.

    CASES=6     of each system call
    AT=9:17     one case: the 17th call of number 9"""
import os
import random
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
sys.dont_write_bytecode = True
import live  # noqa: E402
import pprof  # noqa: E402
import tap  # noqa: E402
import under  # noqa: E402

FAULTY, GROWER = under.program("faults/libcprof.so"), under.program("faults/grower")
CALLS = {"mmap": 9, "mprotect": 10, "madvise": 28, "clock_gettime": 228}  # the last while the peak is copied
CASES = int(os.environ.get("CASES") or 4)
BITS, NUMBERS = 16, 3000  # as grower.c has them

if not live.private_shm("1G"):
    tap.skip_all("a /dev/shm of its own can't be mounted here")


def run(place, inject):
    log = place.file("log")
    with open(log, "w", encoding="ascii"):
        pass
    result = under.run([GROWER], {"RATE": "1", "PEAK": "1", "OUT": place.file("x.%p.pb.gz")}, FAULTY,
                       {"INJECT": inject, "INJECT_LOG": log})
    made = os.path.getsize(log)
    os.unlink(log)
    return result, made


def number_of(stack):
    """What the calls of zero() and one() spell."""
    bits = [name for name in reversed(stack) if name in ("zero", "one")]
    return sum(1 << i for i, name in enumerate(reversed(bits)) if name == "one") if len(bits) == BITS else -1


def blocks(profile, inherited):
    """{number: how many of its blocks}, and stacks that are not those of their blocks."""
    found, wrong = {}, []
    for sample in profile.samples:
        if ("inherited" in sample.labels) != inherited or sample.stack[0] != "turn_end":
            continue
        number = number_of(sample.stack)
        found[number] = found.get(number, 0) + sample.values["alloc_objects"]
        if number != sample.labels["bytes"] - 1:
            wrong.append((sample.labels["bytes"] - 1, sample.stack))
    return found, wrong


def faults(place, result):
    children = {pid: (int(first), int(last)) for pid, first, last in re.findall(r"^child (\d+) (\d+) (\d+)$", result.stdout, re.M)}
    if (result.returncode, result.stderr) != (0, "") or not children:
        return [under.outcome(result)]
    names = [name for name in place.files() if name.endswith(".pb.gz")]
    if len(names) != 2 * (len(children) + 1) or live.segments() or len(place.files()) != len(names):
        return [place.files(), live.segments()]
    wrong = list(filter(None, [under.check([place.file(name) for name in names])]))
    for name in (name for name in names if "peak" not in name and not wrong):
        pid = name.split(".")[1]
        profile = pprof.load(place.file(name))
        own, odd = blocks(profile, inherited=False)
        along, odd_too = blocks(profile, inherited=True)
        first, last = children.get(pid, (0, NUMBERS - 1))
        if own != dict.fromkeys(range(first, last + 1), 1):
            wrong.append(f"{name}: {len(own)} own stacks, should be {first} to {last}")
        if pid in children and along != dict.fromkeys(range(len(along)), 1):
            wrong.append(f"{name}: inherited are not the first {len(along)}")
        if odd or odd_too:
            wrong.append(f"{name}: blocks at stacks that are not theirs: {(odd + odd_too)[:2]}")
        if pid in children and profile.flat("alloc_space")["own"] != 5000000:
            wrong.append(f"{name}: own() is {profile.flat('alloc_space')['own']}")
    return wrong


seed = int(os.environ.get("SEED") or random.randrange(1 << 32))
chosen = random.Random(seed)
for what, call in CALLS.items():
    with live.Place() as where:
        undisturbed, calls = run(where, f"{call}:0:1:0")
        tap.equal(faults(where, undisturbed), [], f"{what}: nothing held up")
    cases = sorted(chosen.sample(range(1, calls + 1), min(CASES, calls)))
    if "AT" in os.environ:
        wanted, at = map(int, os.environ["AT"].split(":"))
        cases = [at] if wanted == call else []
    for case in cases:
        with live.Place() as where:
            disturbed, _ = run(where, f"{call}:0:{case}:1")
            tap.equal(faults(where, disturbed)[:3], [], f"{what}: call {case} of {calls} comes late (SEED={seed}, AT={call}:{case})")
tap.done()
