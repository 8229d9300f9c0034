#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Records that are cut off while cprof serve reads them: the one request may fail, the server goes on."""
import collections
import os
import random
import signal
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
sys.dont_write_bytecode = True
import live  # noqa: E402
import server  # noqa: E402
import tap  # noqa: E402

PATHS = ("/debug/pprof/heap", "/debug/pprof/allocs", "/debug/pprof/heap?debug=1", "/api/flame", "/api/processes",
         "/debug/pprof/symbol?0x401000")
SECONDS = float(os.environ.get("TRUNCATED_SECONDS", "4"))
SEED = os.environ.get("TRUNCATED_SEED", "3")
if not live.private_shm("1G"):
    tap.skip_all("a /dev/shm of its own can't be mounted here")


def extents(path):
    """What there is in a file with holes: [(offset, bytes)]."""
    found, at = [], 0
    with open(path, "rb", buffering=0) as file:
        while True:
            try:
                at = os.lseek(file.fileno(), at, os.SEEK_DATA)
            except OSError:
                return found
            end = os.lseek(file.fileno(), at, os.SEEK_HOLE)
            found.append((at, os.pread(file.fileno(), end - at, at)))
            at = end


def restore(path, size, content):
    with open(path, "r+b", buffering=0) as file:
        os.ftruncate(file.fileno(), size)
        for offset, data in content:
            os.pwrite(file.fileno(), data, offset)


def cut(path, over, chance):
    """Cuts it at places where there is something, and puts it back, until it is over. The process is stopped, as it would
    die of that."""
    size, content = os.path.getsize(path), extents(path)
    while not over.is_set():
        offset, data = chance.choice(content)
        os.truncate(path, chance.choice((0, 4096, offset + chance.randrange(len(data)) // 4096 * 4096)))
        time.sleep(chance.random() * 0.002)
        restore(path, size, content)
        time.sleep(chance.random() * 0.02)


def ask(served, answers, over):
    while not over.is_set():
        for path in PATHS:
            try:
                answers[served.get(path).status] += 1
            except OSError as error:
                answers[repr(error)] += 1


with live.Place() as place:
    program = server.Rhythm(place)
    program.tell("branch 10000")
    with server.Server("--pid", program.pid) as served:
        for path in PATHS * 3:
            served.get(path)
        memory = served.memory()
        os.kill(program.pid, signal.SIGSTOP)
        over, answers = threading.Event(), collections.Counter()
        asking = [threading.Thread(target=ask, args=(served, answers, over)) for _ in range(2)]
        cutting = threading.Thread(target=cut, args=(live.segments_of(program.pid)[0], over, random.Random(SEED)))
        for thread in (*asking, cutting):
            thread.start()
        time.sleep(SECONDS)
        over.set()
        for thread in (*asking, cutting):
            thread.join()
        tap.diagnose(dict(answers))
        tap.ok(set(answers) <= {200, 404, 500}, f"seed {SEED}: nothing but answers", answers)
        tap.ok(answers[200] > 0 and answers[404] + answers[500] > 0, "some while it was whole, some while it was not", answers)
        tap.equal(served.process.poll(), None, "the server goes on")
        answer = served.get("/debug/pprof/heap?debug=1")
        tap.ok(answer.status == 200 and answer.text.startswith("heap profile: 10000: 320000 [10000: 320000]"),
               "and once they are whole again it serves them", answer.text[:80])
        # An encoder that is left where it is has 400 KB.
        allowed = (2 << 20) + answers[500] * (150 << 10)
        tap.ok(served.memory() - memory < allowed, f"{answers[500]} were cut off half-way, and left no memory behind",
               (memory, served.memory()))
        tap.equal((served.stop(), served.stderr), (0, ""), "having said nothing")
        os.kill(program.pid, signal.SIGCONT)
tap.done()
