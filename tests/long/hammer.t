#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Everything at the same time (mixture.c), again and again, at several rates, with and without a second counter behind the
library. All profiles are valid, of the program, its children, and those dumped meanwhile; totals are exact at any rate, and at
rate 1 all of it is.

    HOURS=1 tests/long/hammer.t     for how long; two minutes otherwise
    SEED=4711                       of the first round; each round says its own"""
import os
import random
import re
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
sys.dont_write_bytecode = True
import hammered  # noqa: E402
import live  # noqa: E402
import pprof  # noqa: E402
import tap  # noqa: E402
import under  # noqa: E402

MIXTURE, MOVER, COUNTER = (under.program(f"long/{name}") for name in ("mixture", "mover_plugin.so", "counter_plugin.so"))
TOTAL = float(os.environ.get("HOURS") or 1 / 30) * 3600
KINDS = [(rate, counter) for rate in ("1", "4096", "512K") for counter in (None, COUNTER)]
WAYS = [{}, {"PEAK": "1"}, {"INTERVAL": "50ms"}]  # one for each time round KINDS
SECONDS = min(60, TOTAL / len(KINDS) - 1)  # of a round
CHILDREN_READ = 5
CHECKED_AT_ONCE = 50

if not live.private_shm("2G"):
    tap.skip_all("a /dev/shm of its own can't be mounted here")


def check(files):
    """({file: blocks allocated}, [what is not valid])"""
    sums, wrong = {}, []
    for i in range(0, len(files), CHECKED_AT_ONCE):
        said = live.cprof("check", *files[i : i + CHECKED_AT_ONCE])
        wrong += said.stderr.splitlines()
        sums.update({file: int(blocks) for file, blocks in re.findall(r"^(.*): ok .*alloc_objects=(\d+)", said.stdout, re.M)})
    return sums, wrong


def lines(word, output):
    return {int(line.split()[1]): [int(field) for field in line.split()[2:]]
            for line in output.splitlines() if line.split()[:1] == [word]}


def faults_of_parent(path, rate, output):
    profile = pprof.load(path)
    did, total = hammered.numbers("did", output), hammered.numbers("total", output)
    wrong = []
    if did[1] < 10000:
        wrong.append(f"next to nothing was done: {did}")
    if list(under.exact(profile)) != total:
        wrong.append(f"the profile says {under.exact(profile)} in all, cprof_get_stats {total}")
    if rate != "1":
        return wrong + list(filter(None, [hammered.far_off(profile)]))
    if hammered.figures(profile) != did:
        wrong.append(f"hammered {did}, the profile says {hammered.figures(profile)}")
    if [profile.total("alloc_space"), profile.total("alloc_objects")] != total:
        wrong.append(f"samples add up to {profile.total('alloc_space')}, {profile.total('alloc_objects')}, should be {total}")
    return wrong


def faults_of_child(path, rate, truth):
    profile = pprof.load(path)
    own = [sample for sample in profile.samples if "inherited" not in sample.labels]
    blocks, space = (sum(sample.values[kind] for sample in own if sample.stack[0] == "hammer_child")
                     for kind in ("alloc_objects", "alloc_space"))
    wrong = []
    if list(under.exact(profile)) != truth[::-1]:
        wrong.append(f"{path}: exact {under.exact(profile)}, should be {truth[::-1]}")
    if rate == "1" and [blocks, space] != truth:
        wrong.append(f"{path}: {[blocks, space]}, should be {truth}")
    return wrong


def faults_of_dumps(place, pid, sums):
    """Each holds no less than the one before it, and the last profile no less than any."""
    dumps = sorted((int(found.group(1)), place.file(name)) for name in place.files()
                   if (found := re.fullmatch(rf"x\.{pid}\.(\d+)\.pb\.gz", name)))
    blocks = [sums.get(path, 0) for _, path in dumps] + [sums.get(place.out(pid), 0)]
    wrong = [] if blocks == sorted(blocks) else [f"dumps shrink: {blocks}"]
    return wrong if len(dumps) >= 5 else wrong + [f"{len(dumps)} dumps"]


def faults(place, process, output, errors, rate, counter):
    children, counted = lines("child", output), lines("counted", output)
    if (process.returncode, errors) != (0, ""):
        return [f"status {process.returncode}", output[-500:], errors[-1000:]]
    pids = [process.pid, *children]
    sums, wrong = check([place.file(name) for name in place.files() if name.endswith(".pb.gz")])
    own = {f"x.{pid}.pb.gz" for pid in pids}
    wrong += [f"no {name}" for name in own - set(place.files())]
    # Numbers of processes may come round again: a name that is taken gets a number.
    known = rf"x\.({'|'.join(map(str, pids))})\.(\d+|peak)(\.\d+)?\.pb\.gz|mover\.\d+\.so"
    wrong += [f"{name} is left" for name in place.files() if name not in own and not re.fullmatch(known, name)]
    wrong += [f"{path} is left" for path in live.segments()]
    wrong += [f"{pid}: the profiler counted {them[:2]}, what is behind it {them[2:]}"
              for pid, them in counted.items() if them[:2] != them[2:]]
    if bool(counter) != bool(counted) or not children:
        wrong.append("something was not done")
    if wrong:
        return wrong
    wrong = faults_of_dumps(place, process.pid, sums) + faults_of_parent(place.out(process.pid), rate, output)
    for pid in random.sample(sorted(children), min(CHILDREN_READ, len(children))):
        wrong += faults_of_child(place.out(pid), rate, children[pid])
    return wrong


def go_round(rate, counter, way, seed):
    with live.Place() as place:
        preload = f"{under.LIBRARY}:{counter}" if counter else under.LIBRARY
        settings = {"RATE": rate, "OUT": place.file("x.%p.pb.gz"), "SIGNAL": "USR2", "LOG": "warn", "SEED": str(seed), **way}
        process = under.subprocess.Popen([MIXTURE, f"{SECONDS:.1f}", str(seed), MOVER, place.path], text=True,
                                         env=under.environment(settings, preload), stdout=under.subprocess.PIPE,
                                         stderr=under.subprocess.PIPE)
        place.started.append(process)
        try:
            output, errors = process.communicate(timeout=SECONDS + under.TIMEOUT)
        except under.subprocess.TimeoutExpired:
            return [f"process {process.pid} still runs after {SECONDS + under.TIMEOUT:.0f} s"]
        wrong = faults(place, process, output, errors, rate, counter)
        for path in live.segments():
            os.unlink(path)
        return wrong


def main():
    seed = int(os.environ.get("SEED") or random.randrange(1, 1 << 31))
    end = time.monotonic() + TOTAL - SECONDS / 2
    rounds = 0
    while rounds < len(KINDS) or time.monotonic() < end:
        (rate, counter), way = KINDS[rounds % len(KINDS)], WAYS[rounds // len(KINDS) % len(WAYS)]
        what = ", ".join([f"rate {rate}", *(f"CPROF_{name}={value}" for name, value in way.items()),
                          *(["counted twice"] if counter else []), f"{SECONDS:.0f} s"])
        tap.equal(go_round(rate, counter, way, seed + rounds)[:5], [], f"{what}, SEED={seed + rounds}")
        rounds += 1
    tap.done()


main()
