#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""cprof serve under 200 requests a second for ten seconds, for profiles of twenty processes at work: no request fails,
the server does not grow, and the processes do as much as they did before."""
import concurrent.futures
import os
import statistics
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
sys.dont_write_bytecode = True
import live  # noqa: E402
import server  # noqa: E402
import tap  # noqa: E402

PROCESSES, PER_SECOND, SECONDS = 20, 200, 10
PATHS = ("/debug/pprof/heap?pid={}", "/debug/pprof/allocs?pid={}", "/debug/pprof/heap?pid={}&debug=1", "/targets",
         "/api/processes", "/api/flame?pid={}", "/debug/pprof/cmdline?pid={}", "/debug/pprof/allocs?pid={}&seconds=1")

if not live.private_shm("2G"):
    tap.skip_all("a /dev/shm of its own can't be mounted here")


def ask(served, number, pids, due):
    time.sleep(max(0, due - time.monotonic()))
    begun = time.monotonic()
    path = PATHS[number % len(PATHS)].format(pids[number // len(PATHS) % len(pids)])
    try:
        status = served.get(path).status
        return None if status == 200 else f"{path}: {status}", time.monotonic() - begun, "seconds" in path
    except OSError as error:
        return f"{path}: {error}", time.monotonic() - begun, "seconds" in path


def load(served, pids, seconds):
    """What went wrong, and how long the others took."""
    begun = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(48) as pool:
        results = list(pool.map(lambda i: ask(served, i, pids, begun + i / PER_SECOND), range(PER_SECOND * seconds)))
    return [wrong for wrong, _, _ in results if wrong], [took for _, took, waits in results if not waits]


def work(program, seconds):
    """How much of the processor's time the program took for a fixed piece of work, again and again."""
    figures, end = [], time.monotonic() + seconds
    while time.monotonic() < end:
        before = processor_time(program.pid)
        program.tell("pass 200000 64")
        figures.append(processor_time(program.pid) - before)
        time.sleep(0.05)
    return statistics.median(figures)


def processor_time(pid):
    with open(f"/proc/{pid}/schedstat", encoding="ascii") as file:
        return int(file.read().split()[0]) / 1e9


with live.Place() as place:
    programs = [server.Rhythm(place, RATE="65536") for _ in range(PROCESSES)]
    for program in programs[1:]:
        program.say("beat 120")
    pids = [program.pid for program in programs]
    with server.Server() as served:
        load(served, pids, 2)
        alone = work(programs[0], 5)
        memory, descriptors = served.memory(), served.descriptors()
        measured = []
        worker = threading.Thread(target=lambda: measured.append(work(programs[0], SECONDS - 1)))
        worker.start()
        wrong, took = load(served, pids, SECONDS)
        worker.join()
        tap.equal(wrong[:5], [], f"{PER_SECOND * SECONDS} requests at {PER_SECOND} a second: none failed")
        tap.ok(statistics.median(took) < 0.1, "half of them within a tenth of a second",
               f"median {statistics.median(took):.3f} s, slowest {max(took):.3f} s")
        tap.ok(served.memory() - memory < 4 << 20, "the server has not grown", (memory, served.memory()))
        tap.ok(served.descriptors() <= descriptors + 2, "and keeps nothing open", (descriptors, served.descriptors()))
        tap.ok(measured[0] < alone * 1.25, "a process takes as much time for its work as before",
               f"{alone:.4f} s before, {measured[0]:.4f} s meanwhile")
        tap.diagnose(f"median {statistics.median(took) * 1e3:.1f} ms",
                     f"a piece of work {alone:.4f} s, under load {measured[0]:.4f} s")
        tap.equal([program.process.poll() for program in programs], [None] * PROCESSES, "all of them live")
        tap.equal((served.stop(), served.stderr), (0, ""), "the server ends as it should")
tap.done()
