#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Under glibc's allocator and under jemalloc, tcmalloc and mimalloc, linked and preloaded: all that the program asks
for is in the profile, to the byte. Where the other allocator was given precedence nothing may change, and the profile
must say why there is so little in it."""
import ctypes.util
import os
import re
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
sys.dont_write_bytecode = True
import pprof  # noqa: E402
import tap  # noqa: E402
import under  # noqa: E402

PROGRAMS = ("family", "operators")
ALLOCATORS = ("jemalloc", "tcmalloc", "mimalloc")
TYPES = ("alloc_space", "alloc_objects", "inuse_space", "inuse_objects")


def found(allocator):
    """The shared library's name, as it is for the loader."""
    return ctypes.util.find_library(allocator)


def profile_of(what, command, preload, path):
    """The program run plain and profiled with everything recorded. Returns (truth, profile)."""
    other = [name for name in preload.split(":") if name != under.LIBRARY]
    plain = under.run(command, preload=":".join(other))
    result = under.run(command, {"RATE": "1", "OUT": path}, preload)
    tap.equal(under.outcome(result), under.outcome(plain), f"{what}: behaves as without the library")
    try:
        return under.truth(result.stdout), pprof.load(path)
    except (OSError, pprof.Malformed) as error:
        tap.ok(False, f"{what}: leaves a profile", error)
        return None, None


def check_exact(what, command, preload, path, allocator):
    truth, profile = profile_of(what, command, preload, path)
    if not profile:
        return
    flat = {sample_type: profile.flat(sample_type) for sample_type in TYPES}
    tap.ok(len(truth) >= 8, f"{what}: says what it allocates", truth)
    tap.equal({name: [flat[sample_type][name] for sample_type in TYPES] for name in truth}, truth,
              f"{what}: exact, function by function")
    tap.equal((profile.total("alloc_space"), profile.total("alloc_objects")), under.exact(profile),
              f"{what}: the totals are those of the samples")
    tap.equal(under.run(command, {"LOG": "warn"}, preload).stderr, "", f"{what}: there is nothing to warn of")
    comment = " ".join(profile.comments)
    tap.ok(allocator in comment.split("allocator ", 1)[-1] and "comes before" not in comment,
           f"{what}: the profile names the allocator", comment)


def check_unseen(what, command, preload, path, allocator):
    result = under.run(command, {"LOG": "warn"}, preload)
    tap.ok(re.fullmatch(rf"cprof\[\d+\]: malloc is served by \S*{allocator}\S*, which comes before libcprof.so: .*\n", result.stderr),
           f"{what}: is warned of", result.stderr)
    truth, profile = profile_of(what, command, preload, path)
    if not profile:
        return
    comment = " ".join(profile.comments)
    tap.ok(allocator in comment and "comes before libcprof.so" in comment, f"{what}: the profile says why", comment)
    # Of jemalloc and mimalloc some functions are missing: a program that calls these gets libc's, which we do see.
    seen = {name for name in truth if profile.flat("alloc_space")[name]}
    tap.equal(seen - {"use_pvalloc"}, set(), f"{what}: and shows nothing it can't know")


with tempfile.TemporaryDirectory(prefix="cprof-allocators.") as directory:
    def check(how, what, *arguments):
        how(what, *arguments[:2], os.path.join(directory, what.replace(" ", "-") + ".pb.gz"), arguments[2])

    for program in PROGRAMS:
        command = [under.program(f"system/{program}")]
        check(check_exact, f"{program}, glibc", command, under.LIBRARY, "libc.so.6")
        tap.equal(under.run([*command, "run-out"]).returncode, 0, f"{program}, glibc: out of memory is answered")
        for allocator in ALLOCATORS:
            library = found(allocator)
            linked = os.path.join(under.ROOT, "build", "tests", "system", f"{program}.{allocator}")
            if os.path.exists(linked):
                check(check_exact, f"{program} linked with {allocator}", [linked], under.LIBRARY, allocator)
            else:
                tap.skip(f"{program} linked with {allocator}", f"lib{allocator} has no development files here")
            if not library:
                tap.skip(f"{program} with {allocator} preloaded", f"lib{allocator} isn't there")
                continue
            check(check_exact, f"{program} with {allocator} preloaded after", command, f"{under.LIBRARY}:{library}",
                  allocator)
            check(check_unseen, f"{program} with {allocator} preloaded before", command,
                  f"{library}:{under.LIBRARY}", allocator)
tap.done()
