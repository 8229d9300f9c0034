#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What processes leave that could not write a profile: of a sandboxed one `cprof recover` makes it; of killed ones there
are never more than the newest 64."""
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
sys.dont_write_bytecode = True
import live  # noqa: E402
import tap  # noqa: E402
import under  # noqa: E402

STILL, SANDBOXED = under.program("live/still"), under.program("live/sandboxed")
MOST = 64

if not live.private_shm("1G"):
    tap.skip_all("a /dev/shm of its own can't be mounted here")


def check_sandboxes():
    for how in ("prctl", "seccomp"):
        with live.Place() as place:
            process = subprocess.Popen([SANDBOXED, how], env=place.environment(), stdin=subprocess.DEVNULL)
            tap.equal(process.wait(under.TIMEOUT), 0, f"a filter that kills, by {how}: the program ends as ever")
            tap.equal(place.files(), [], "it could write no profile")
            tap.equal(len(live.segments_of(process.pid)), 1, "its records are there")
            result = live.cprof("recover", process.pid)
            tap.equal(result.returncode, 0, "cprof recover does what it could not")
            tap.equal(under.check([place.out(process.pid)]), "", "a valid profile")
            tap.equal(live.figures(place.out(process.pid), "keep"), {"keep": (100, 100000) * 2}, "of all that it had")
            tap.equal(live.segments(), [], "nothing is left")


def killed(place):
    """The number of a process that was killed once it had allocated."""
    process = subprocess.Popen([STILL, "sleep"], env=place.environment(), stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE)
    process.stdout.readline()
    process.kill()
    process.communicate()
    return process.pid


def check_killed():
    with live.Place() as place:
        alive = place.start([STILL, "sleep"])
        pids = [killed(place) for _ in range(100)]
        left = {int(os.path.basename(path).split("-")[0]) for path in live.segments()} - {alive.pid}
        tap.ok(MOST <= len(left) <= MOST + 1, f"of 100 that were killed {MOST} are left, and one that came later", left)
        tap.equal(left, set(pids[-len(left):]), "the newest ones")
        before = live.segments()
        result = under.run([STILL, "sleep"], {"RATE": "1", "OUT": place.file("last.pb.gz")}, stdin=subprocess.DEVNULL)
        tap.equal(under.outcome(result), (0, "ready\n", ""), "the next process runs as ever, and says nothing")
        after = live.segments()
        tap.ok(set(after) <= set(before) and len(after) == MOST + 1, f"it leaves {MOST} of them, and the living one's",
               len(before), len(after))
        tap.equal(len(live.segments_of(alive.pid)), 1, "the living one, older than all, has kept its own")
        alive.communicate("\n", timeout=under.TIMEOUT)
        tap.equal((alive.returncode, live.figures(place.out(alive.pid), "keep")), (0, {"keep": (1000, 300000) * 2}),
                  "and its profile")
        result = live.cprof("recover", pids[-1])
        tap.equal((result.returncode, live.figures(place.out(pids[-1]), "keep")), (0, {"keep": (1000, 300000) * 2}),
                  "the last one that was killed can be recovered")


def check_few():
    """As long as there are not many, all are kept."""
    with live.Place() as place:
        pids = {killed(place) for _ in range(30)}
        tap.equal({int(os.path.basename(path).split("-")[0]) for path in live.segments()}, pids, "30 are kept")


check_sandboxes()
check_killed()
if live.private_shm("1G"):
    check_few()
tap.done()
