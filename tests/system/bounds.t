#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a process leaves when things come together: ends amid dumps, forks at the memory limit, shells that fork a
lot."""
import os
import re
import shutil
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
sys.dont_write_bytecode = True
import pprof  # noqa: E402
import tap  # noqa: E402
import under  # noqa: E402

BOUNDS = under.program("system/bounds")
OVERFLOW = "[cprof: memory limit]"
KINDS = ("alloc_objects", "alloc_space", "inuse_objects", "inuse_space")


def files(directory):
    return sorted(os.path.join(directory, name) for name in os.listdir(directory))


def check_ends():
    """Whatever another thread does at that time, the last profile is there, and no part of any."""
    for how, ms, settings in (("allocate", 7, {"INTERVAL": "1ms"}), ("allocate", 40, {"INTERVAL": "1ms"}),
                              ("allocate", 25, {"INTERVAL_BYTES": "1M"}), ("dump", 5, {}), ("dump", 60, {}),
                              ("_exit", 0, {})):
        wrong = []
        for _ in range(5):
            with tempfile.TemporaryDirectory(prefix="cprof-bounds.") as directory:
                result = under.run([BOUNDS, "end", how, str(ms)],
                                   {"RATE": "1", "OUT": f"{directory}/x.pb.gz", **settings})
                names = sorted(os.listdir(directory))
                if under.outcome(result) != (0, "", ""):
                    wrong.append(under.outcome(result))
                if "x.pb.gz" not in names or [name for name in names if not re.fullmatch(r"x(\.\d+)?\.pb\.gz", name)]:
                    wrong.append(names)
                elif under.check(files(directory)):
                    wrong.append(under.check(files(directory)))
        what = ", ".join([f"{ms} ms", *(f"CPROF_{name}={value}" for name, value in settings.items())])
        tap.equal(wrong[:2], [], f"exit amid {how} ({what}): the last profile, and no part of one")


def labelled(profile, inherited):
    """{kind: sum} of own or inherited samples, and the same without what is over the limit."""
    sums, known = dict.fromkeys(KINDS, 0), dict.fromkeys(KINDS, 0)
    for sample in profile.samples:
        if ("inherited" in sample.labels) != inherited:
            continue
        for kind in KINDS:
            sums[kind] += sample.values[kind]
            if sample.stack[:1] != [OVERFLOW]:
                known[kind] += sample.values[kind]
    return sums, known


def check_memory_limit():
    for limit in ("1M", "2M", "4M", None):
        with tempfile.TemporaryDirectory(prefix="cprof-bounds.") as directory:
            settings = {"RATE": "1", "OUT": f"{directory}/x.%p.pb.gz", **({"MAX_MEMORY": limit} if limit else {})}
            result = under.run([BOUNDS, "stacks"], settings)
            tap.equal((result.returncode, result.stderr), (0, ""), f"CPROF_MAX_MEMORY={limit}: runs as ever")
            tap.equal(under.check(files(directory)), "", f"CPROF_MAX_MEMORY={limit}: valid")
            truth = under.truth(result.stdout)
            tap.equal(sorted(files(directory)), sorted(f"{directory}/x.{pid}.pb.gz" for pid in truth),
                      f"CPROF_MAX_MEMORY={limit}: parent and children, a profile each")
            odd, over = [], 0
            for pid, (blocks, space, used, used_space) in truth.items():
                profile = pprof.load(f"{directory}/x.{pid}.pb.gz")
                sums, known = labelled(profile, inherited=False)
                if (sums["alloc_space"], sums["alloc_objects"]) != under.exact(profile):
                    odd.append((pid, "sums", sums, under.exact(profile)))
                if sums["alloc_objects"] < blocks or sums["alloc_space"] < space:
                    odd.append((pid, "less than was allocated", sums, blocks, space))
                mine = dict.fromkeys(KINDS, 0)
                for sample in profile.samples:
                    if "inherited" not in sample.labels and sample.stack[:1] == ["deep"]:
                        for kind in KINDS:
                            mine[kind] += sample.values[kind]
                if mine["inuse_objects"] > used or mine["inuse_space"] > used_space:
                    odd.append((pid, "more in use than there is", mine, used, used_space))
                if not limit and (mine["alloc_objects"], mine["inuse_space"]) != (blocks, used_space):
                    odd.append((pid, "not all", mine))
                over += sums["alloc_objects"] - known["alloc_objects"]
                if " dropped 0," not in " ".join(profile.comments):
                    odd.append((pid, profile.comments))
            tap.equal(odd, [], f"CPROF_MAX_MEMORY={limit}: no block is lost, none in use that was freed")
            if limit in ("1M", None):
                tap.equal(over > 0, limit is not None, f"CPROF_MAX_MEMORY={limit}: {over} blocks in {OVERFLOW}")


def copy_of_library(directory, log):
    """Path of a library that has a command beside it which writes down its arguments, and then does its work."""
    for path in (under.LIBRARY, under.BACKEND):
        shutil.copy(os.path.realpath(path), os.path.join(directory, os.path.basename(path)))
    command = os.path.join(directory, "cprof")
    with open(command, "w", encoding="ascii") as file:
        file.write(f'#!/bin/sh\necho "$@" >>{log}\nexec {under.CPROF} "$@"\n')
    os.chmod(command, 0o755)
    return os.path.join(directory, os.path.basename(under.LIBRARY))


def named(path):
    """Do all locations of files have names in the profile itself?"""
    profile = pprof.load(path, symbolize=False)
    return [place.lines[0].name for sample in profile.samples for place in sample.locations[:2]]


def check_forks():
    """Children that have nothing of their own don't wait for names to be looked up."""
    with tempfile.TemporaryDirectory(prefix="cprof-bounds.") as directory:
        log = os.path.join(directory, "log")
        library = copy_of_library(directory, log)
        out = os.path.join(directory, "out")
        os.mkdir(out)
        result = under.run([BOUNDS, "forks", "200"], {"OUT": f"{out}/x.pb.gz", "SYMBOLIZE": "on"}, preload=library)
        tap.equal(under.outcome(result), (0, "", ""), "200 forks: runs as ever")
        paths = files(out)
        tap.equal(under.check(paths), "", "200 forks: profiles, all valid")
        tap.equal(len(paths), 201, "one of each process")
        with open(log, encoding="utf-8") as file:
            calls = [line.split()[-1] for line in file]
        own = [path for path in paths if pprof.load(path).flat("alloc_objects")["own"]]
        tap.equal(len(own), 1, "one child allocated by itself")
        tap.equal(sorted(calls), sorted([f"{out}/x.pb.gz", *own]),
                  "names were looked up for the parent's and that one's")
        tap.ok("keep" in named(f"{out}/x.pb.gz") and "own" in named(own[0]), "and are in there", named(own[0]))


check_ends()
check_memory_limit()
check_forks()
tap.done()
