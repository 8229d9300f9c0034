#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""kill -9 at any moment of a server at work: the profile that is recovered is valid and holds at least what a dump
showed just before. KILLS says how often."""
import os
import random
import shutil
import socket
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
sys.dont_write_bytecode = True
import live  # noqa: E402
import tap  # noqa: E402
import under  # noqa: E402

KILLS = int(os.environ.get("KILLS") or 5)
STILL = under.program("live/still")

if not live.private_shm("4G"):
    tap.skip_all("a /dev/shm of its own can't be mounted here")


def answers(port):
    try:
        with socket.create_connection(("127.0.0.1", port), 1) as connection:
            connection.sendall(b"PING\r\n")
            return connection.recv(7) == b"+PONG\r\n"
    except OSError:
        return False


def dump_and_kill(place, process, seconds):
    """The totals of a dump after some time, of the profile recovered after the kill, and what is wrong."""
    time.sleep(seconds)
    before, out = place.file("before.pb.gz"), place.file("after.pb.gz")
    results = [live.cprof("dump", "--no-symbolize", "-o", before, process.pid)]
    process.kill()
    process.wait()
    results.append(live.cprof("recover", "--no-symbolize", "-o", out, process.pid))
    wrong = [result for result in results if result.returncode or result.stderr]
    if wrong:
        return wrong
    before, after, faults = live.totals(before), live.totals(out), under.check([before, out])
    # Of an estimate, what is in use and what was freed are rounded apart, so that their sum may be one less than before.
    less = [kind for kind in ("alloc_space", "alloc_objects") if after[kind] < before[kind] - 1]
    odd = [kind for kind in ("space", "objects") if not 0 <= after[f"inuse_{kind}"] <= after[f"alloc_{kind}"]]
    return [faults] * bool(faults) + [(kind, before, after) for kind in less + odd]


def check_redis(rng):
    if not shutil.which("redis-server") or not shutil.which("redis-benchmark"):
        tap.skip("redis-server", "there is none")
        return
    for i in range(KILLS):
        with live.Place() as place:
            port, rate = under.free_port(), rng.choice((1, 512, 65536))
            server = subprocess.Popen(
                ["redis-server", "--bind", "127.0.0.1", "--port", str(port), "--save", "", "--dir", place.path,
                 "--maxmemory", "200mb"], env=place.environment(RATE=str(rate)), stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            place.started.append(server)
            if not live.wait_until(lambda: answers(port)):
                tap.ok(False, "redis-server starts")
                continue
            load = subprocess.Popen(["redis-benchmark", "-p", str(port), "-q", "-n", "10000000", "-r", "100000", "-d",
                                     "300",
                                     "-t", "set,lpush,lpop"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                    stderr=subprocess.DEVNULL, env=under.environment(preload=None))
            place.started.append(load)
            seconds = rng.random()
            wrong = dump_and_kill(place, server, seconds)
            tap.equal(wrong, [], f"redis-server, rate {rate}, killed after {seconds:.3f} s at work")
            tap.equal(live.segments(), [], "nothing is left behind")


def check_churn(rng):
    """Four threads that do nothing but allocate and free: the kill comes in the middle of all sorts of things."""
    wrong = []
    for i in range(4 * KILLS):
        with live.Place() as place:
            process = place.start([STILL, "churn"], RATE=str(rng.choice((1, 64, 4096))))
            wrong += dump_and_kill(place, process, rng.random() / 20)
            wrong += live.segments()
    tap.equal(wrong, [], f"{4 * KILLS} kills of four allocating threads")


def check_start(rng):
    """Killed at its very start or end, it leaves something to recover, or nothing."""
    wrong = []
    for i in range(8 * KILLS):
        with live.Place() as place:
            process = subprocess.Popen([STILL, "sleep"], env=place.environment(), stdin=subprocess.DEVNULL,
                                       stdout=subprocess.DEVNULL)
            time.sleep(rng.random() / 100)
            process.kill()
            process.wait()
            result = live.cprof("recover", "--all")
            files = [place.file(name) for name in place.files() if not name.endswith(".tmp")]
            wrong += [result] * bool(result.returncode or result.stderr) + live.segments()
            faults = under.check(files) if files else ""
            wrong += [faults] * bool(faults)
    tap.equal(wrong, [], f"{8 * KILLS} kills of a process that starts and ends")


seed = int(os.environ.get("SEED") or random.randrange(1 << 32))
tap.diagnose(f"SEED={seed}")
for check in (check_redis, check_churn, check_start):
    check(random.Random(seed))
tap.done()
