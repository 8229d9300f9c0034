#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""cprof serve as Alloy's pyroscope.scrape and Parca see it: scrape.go does what they do, by the Go packages that they
use."""
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
sys.dont_write_bytecode = True
import live  # noqa: E402
import server  # noqa: E402
import tap  # noqa: E402
import under  # noqa: E402

PACKAGES = "/usr/share/gocode"
TYPES = "alloc_objects/count,alloc_space/bytes,inuse_objects/count,inuse_space/bytes"
if not shutil.which("go") or not os.path.isdir(f"{PACKAGES}/src/github.com/google/pprof/profile"):
    tap.skip_all("Go or its package pprof/profile (golang-github-google-pprof-dev) is not installed")
if not live.private_shm("1G"):
    tap.skip_all("a /dev/shm of its own can't be mounted here")


def build(place):
    """Objects are kept in build/, as compiling net/http takes long."""
    environment = under.environment(preload=None, extra={
        "GO111MODULE": "off", "GOPATH": PACKAGES, "CGO_ENABLED": "0", "GOFLAGS": "", "HOME": place.path,
        "GOCACHE": os.path.join(under.ROOT, "build", "go-cache")})
    result = subprocess.run(["go", "build", "-o", place.file("scrape"), os.path.join(under.ROOT, "tests/serve/scrape.go")],
                            env=environment, capture_output=True, text=True, timeout=300, check=False)
    if result.returncode:
        under.bail_out(result.stderr)


def check(place, served, program, agent, path, default):
    """Scrapes twice; what the program does in between is the difference."""
    scraper = subprocess.Popen([place.file("scrape"), served.url("/targets"), agent, path, "2"], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True, env=under.environment(preload=None))
    said = []
    while (line := scraper.stdout.readline().rstrip("\n")) not in ("next", ""):
        said.append(line)
    program.tell("keep 7 100")
    program.tell("pass 5 10")
    rest, error = scraper.communicate(timeout=under.TIMEOUT)
    said += rest.splitlines()
    if not tap.ok(scraper.returncode == 0 and len(said) == 8, f"{agent}, {path}: taken", said, error):
        return
    name = f"{agent}, {path}"
    tap.equal(said[0], f"target rhythm {program.pid}", f"{name}: found by http_sd")
    tap.equal(said[1], f"profile {default} space/bytes 1", f"{name}: default type and period")
    tap.equal([line.split(" keep ")[0] for line in said[2:4]],
              [f"all {TYPES}", f"kept {','.join(TYPES.split(',')[2:])}"], f"{name}: types, also some of them")
    tap.equal(said[-1], f"delta {TYPES} keep [7 700 7 700] pass [5 50 0 0]", f"{name}: the difference that they take")
    kept = [line.split(" keep ")[1] for line in said if line.startswith("kept")]
    whole = [line.split(" keep ")[1].split("]")[0].split() for line in said if line.startswith("all")]
    tap.equal([line.split("]")[0] for line in kept], ["[" + " ".join(values[2:]) for values in whole],
              f"{name}: values stay with their types")


with live.Place() as PLACE:
    build(PLACE)
    PROGRAM = server.Rhythm(PLACE)
    PROGRAM.tell("keep 1000 300")
    PROGRAM.tell("pass 500 40")
    with server.Server() as SERVED:
        SERVED.get("/debug/pprof/heap")  # names
        SERVED.get("/debug/pprof/heap")
        check(PLACE, SERVED, PROGRAM, "Alloy/v1.11.0 (linux; linux)", "/debug/pprof/allocs", "alloc_space")
        check(PLACE, SERVED, PROGRAM, "conprof/0.24.0", "/debug/pprof/allocs", "alloc_space")
        check(PLACE, SERVED, PROGRAM, "conprof/0.24.0", "/debug/pprof/heap", "inuse_space")
tap.done()
