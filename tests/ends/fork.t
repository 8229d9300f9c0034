#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Forks of a program whose other threads allocate all the time: every child ends as it would, and has a profile of
what it did itself, with what it inherited labelled. FORKS says how many."""
import os
import random
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
sys.dont_write_bytecode = True
import live  # noqa: E402
import pprof  # noqa: E402
import tap  # noqa: E402
import under  # noqa: E402

STORM = under.program("ends/storm")
FORKS = int(os.environ.get("FORKS") or 1000)
LOOKED_AT = 25
OWN, KEPT = (10, 1000, 10, 1000), (100, 100000, 100, 100000)

if not live.private_shm("2G"):
    tap.skip_all("a /dev/shm of its own can't be mounted here")

with live.Place() as place:
    out = place.file("x.pb.gz")
    result = under.run([STORM, str(FORKS)], {"RATE": "1", "OUT": out}, timeout=max(60, FORKS / 5))
    tap.equal(under.outcome(result), (0, "", ""),
              f"{FORKS} forks beside eight allocating threads: all children end well")
    names = place.files()
    tap.equal(len(names), FORKS + 1, "each has a profile")
    tap.equal(live.segments(), [], "nothing is left behind")
    parent = live.figures(out, "keep", "child")
    tap.equal(parent, {"keep": KEPT, "child": (0, 0, 0, 0)}, "the parent's holds what it did")
    seed = int(os.environ.get("SEED") or random.randrange(1 << 32))
    chosen = random.Random(seed).sample([name for name in names if name != "x.pb.gz"], min(LOOKED_AT, FORKS))
    paths = [place.file(name) for name in chosen]
    tap.equal(under.check(paths), "", f"{len(paths)} of the children's are valid (SEED={seed})")
    wrong = {}
    for path in paths:
        own, inherited = (live.figures(path, "keep", "child", "churn_once", inherited=kind) for kind in (False, True))
        if (own["child"], own["keep"], inherited["keep"], inherited["child"]) != (OWN, (0,) * 4, KEPT, (0,) * 4):
            wrong[path] = own, inherited
        # Allocated and in use are the same for what came along; of the churning threads that is at most what they hold.
        blocks = inherited["churn_once"]
        if blocks[:2] != blocks[2:] or blocks[0] > 8 * 65 or own["churn_once"] != (0,) * 4:
            wrong[path] = own, inherited
    tap.equal(wrong, {}, "they hold what the child did, and what it inherited, labelled")

with live.Place() as place:
    result = under.run([STORM, "20"], {"RATE": "1", "OUT": place.file("x.pb.gz"), "FORK": "off"})
    tap.equal((under.outcome(result), place.files(), live.segments()), ((0, "", ""), ["x.pb.gz"], []),
              "CPROF_FORK=off: no child has one")
with live.Place() as place:
    result = under.run([STORM, "20"], {"RATE": "4096", "OUT": place.file("x.pb.gz")})
    found = [pprof.load(place.file(name), symbolize=False) for name in place.files()]
    tap.equal((under.outcome(result), len(found), {profile.period for profile in found}), ((0, "", ""), 21, {4096}),
              "sampled: one each as well")
    tap.equal(under.check([place.file(name) for name in place.files()]), "", "and valid")
tap.done()
