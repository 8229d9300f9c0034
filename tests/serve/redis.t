#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""cprof serve and a server at work: redis under its own benchmark, looked at by go tool pprof and as scrapers do."""
import concurrent.futures
import gzip
import os
import re
import shutil
import socket
import struct
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
sys.dont_write_bytecode = True
import live  # noqa: E402
import pprof  # noqa: E402
import server  # noqa: E402
import tap  # noqa: E402
import under  # noqa: E402

RATE = 16384
for name in ("redis-server", "redis-benchmark"):
    if not shutil.which(name):
        tap.skip_all(f"{name} is not installed")
if not live.private_shm("1G"):
    tap.skip_all("a /dev/shm of its own can't be mounted here")


def answers(port):
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
        return True
    except OSError:
        return False


def benchmark(port, seconds):
    """Keeps it busy for so long at least."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        subprocess.run(["redis-benchmark", "-p", str(port), "-t", "set,lpush,hset", "-n", "20000", "-r", "1000", "-d",
                        "300", "-c", "8", "-q"], capture_output=True, timeout=60, check=True)


def counted(path):
    with open(path, "rb") as file:
        return struct.unpack("QQ", file.read(16))


def check_exactly(place, pool):
    """At rate 1, the difference over five seconds is, to the block and to the byte, what a counter behind the profiler has
    counted meanwhile."""
    port, counts = under.free_port(), place.file("counts")
    os.mkdir(counts)
    environment = place.environment(RATE="1")
    environment.update(LD_PRELOAD=f"{under.LIBRARY}:{under.program('programs/witness_plugin.so')}", WITNESS_DIR=counts)
    redis = subprocess.Popen(["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", place.path],
                             env=environment, stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
    place.adopt(redis)
    live.wait_until(lambda: answers(port))
    path = os.path.join(counts, f"@{redis.pid}.0")
    with server.Server("--pid", redis.pid) as served:
        served.get("/debug/pprof/heap")
        for _ in range(5):  # on a busy machine the load may be over too late, or redis do something between the two looks
            time.sleep(1)  # until it is idle
            before, begun = counted(path), time.monotonic()
            waiting = pool.submit(served.get, "/debug/pprof/allocs?seconds=5")
            time.sleep(1)
            benchmark(port, 0.5)
            load, late = counted(path), time.monotonic() - begun > 4.5
            profile = pprof.Profile(gzip.decompress(waiting.result().body), symbolize=False)
            after = counted(path)
            found = profile.total("alloc_objects"), profile.total("alloc_space")
            wanted = after[0] - before[0], after[1] - before[1]
            if found == wanted and not late:
                break
    tap.ok(load[0] - before[0] > 100000, "there was a load", (before, load))
    tap.equal(found, wanted,
              "rate 1: the difference over five seconds is what a counter has counted meanwhile")
    tap.ok(4.9e9 < profile.duration_nanos < 20e9, "over five seconds", profile.duration_nanos)


with live.Place() as place, concurrent.futures.ThreadPoolExecutor() as pool:
    port = under.free_port()
    redis = place.start(["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", place.path],
                        RATE=str(RATE))
    live.wait_until(lambda: answers(port))
    with server.Server("--name", "redis*") as served:
        served.get("/debug/pprof/heap")
        busy = pool.submit(benchmark, port, 4)
        time.sleep(0.5)
        waiting = pool.submit(served.get, "/debug/pprof/allocs?seconds=2")
        slowest = 0
        for _ in range(10):
            begun = time.monotonic()
            served.get("/debug/pprof/heap")
            slowest = max(slowest, time.monotonic() - begun)
            time.sleep(0.05)
        answer = waiting.result()
        profile = pprof.Profile(gzip.decompress(answer.body), symbolize=False)
        exact, calls = under.exact(profile)
        estimate = profile.total("alloc_space")
        # One standard error of an estimate from n samples is about 1/sqrt(n) of it.
        error = 5 * (RATE / exact) ** 0.5
        tap.ok(exact > 1e6 and abs(estimate / exact - 1) < error,
               "the difference over two seconds is what was allocated",
               f"estimated {estimate}, exact {exact} in {calls} calls, allowed {error:.3f}")
        tap.ok(all(sample.values["alloc_space"] >= 0 and sample.values["alloc_objects"] >= 0
                   for sample in profile.samples), "and nothing was allocated less than before")
        tap.ok(slowest < 1, "profiles meanwhile take a moment", f"the slowest took {slowest:.3f} s")
        path = place.file("heap.pb.gz")
        with open(path, "wb") as file:
            file.write(served.get("/debug/pprof/heap").body)
        tap.equal(under.check([path]), "", "they are valid")
        if shutil.which("go"):
            top = subprocess.run(["go", "tool", "pprof", "-top", served.url("/debug/pprof/allocs")], text=True,
                                 capture_output=True, timeout=60, check=False,
                                 env={**os.environ, "PPROF_TMPDIR": place.path, "HOME": place.path}).stdout
            tap.ok("File: redis" in top and re.search(r"\s100%\s+main$|\s_start$", top, re.M),
                   "go tool pprof prints its functions", top)
        else:
            tap.skip("go tool pprof", "it is not installed")
        busy.result()
        tap.equal(redis.poll(), None, "redis noticed nothing")
    redis.kill()
    check_exactly(place, pool)
tap.done()
