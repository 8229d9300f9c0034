#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the library leaves to a program whose address space is limited: all but its own text and data where it says that it
doesn't profile, and at least three quarters of the rest where it does. And what it gives back when it finds out late."""
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
sys.dont_write_bytecode = True
import tap  # noqa: E402
import under  # noqa: E402

STARVE, EARLY = under.program("system/starve"), under.program("system/early_plugin.so")
LIMITS = (*range(10000, 100000, 6000), *range(100000, 400001, 50000))  # KiB
HEAP_STEP = 132  # KiB, by which glibc's heap grows: so much more or less may be lost, or a block
OTHERS = {"rate 1": {"RATE": "1"}, "the usual rate": {}}


def starve(kib, *arguments, **how):
    def limit():
        if kib:
            resource.setrlimit(resource.RLIMIT_AS, (kib << 10, kib << 10))

    result = under.run([STARVE, *map(str, arguments)], preexec_fn=limit, **how)
    numbers = [int(number) for number in result.stdout.split()]
    return (numbers if result.returncode == 0 and len(numbers) == 2 else (0, 0)), result


def own():
    """KiB of the library's own text and data."""
    return starve(None, 1, 1, settings={"RATE": "0"})[0][1] - starve(None, 1, 1, preload=None)[0][1]


def check_limits(what, settings, size, most, place):
    """Of `most` KiB, in blocks of `size` bytes."""
    taken, wrong, profiled, path = own() + HEAP_STEP + (size >> 10) + 1, [], [], os.path.join(place, "limited.pb.gz")
    for kib in LIMITS:
        count = min(most, kib) * 1024 // size
        (without, _), _ = starve(kib, count, size, preload=None)
        (got, _), result = starve(kib, count, size, settings={**settings, "OUT": path})
        lost = (without - got) * (size + 16) / 1024  # KiB
        wrote = os.path.exists(path)
        if wrote:
            profiled.append(kib)
            fine = result.stderr == "" and under.check([path]) == "" and lost <= taken + (kib - taken) / 4
            os.remove(path)
        else:
            fine = (re.fullmatch(r"cprof\[\d+\]: not profiling: the address space is limited .*\n", result.stderr)
                    and lost <= taken)
        if not fine or result.returncode != 0:
            wrong.append((kib, f"of {count}, {without} without and {got} with", "profiled" if wrote else "", result))
    tap.equal(wrong, [], f"{what}: has what is due to it under {len(LIMITS)} limits")
    tap.ok(profiled and profiled == [kib for kib in LIMITS if kib >= profiled[0]] and 50000 < profiled[0] <= 100000,
           "is profiled from one of them on", profiled)


def check_given_back(place):
    """The backend is missing, which is found out when what a library's constructor allocated has been recorded."""
    library = os.path.join(place, "libcprof.so")
    shutil.copy(under.LIBRARY, library)
    for what, settings in OTHERS.items():
        for early in ("", f":{EARLY}"):
            (_, inert), _ = starve(None, 1, 1, settings={"RATE": "0"}, preload=under.LIBRARY + early)
            (_, after), result = starve(None, 1, 1, settings=settings, preload=library + early)
            tap.ok("not profiling: the backend" in result.stderr and 0 < inert <= after <= inert + 64,
                   f"{what}, {'blocks recorded' if early else 'none'}: all goes back", inert, after, result)
    wrong = []
    for _ in range(5):
        process = subprocess.Popen([STARVE, "1000", "1000"], text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   env=under.environment({"RATE": "1"}, f"{library}:{EARLY}", {"EARLY": "thread"}))
        output, errors = process.communicate(timeout=under.TIMEOUT)
        if process.returncode != 0 or not output.startswith("1000 ") or errors.count("\n") != 1 or under.segments(process.pid):
            wrong.append((process.returncode, output, errors, under.segments(process.pid)))
    tap.equal(wrong, [], "with a thread about, amid recording, it runs on as ever")


with tempfile.TemporaryDirectory(prefix="cprof-starved.") as directory:
    for name, setting in OTHERS.items():
        check_limits(f"{name}, all there is", setting, 10000, 1 << 30, directory)
        check_limits(f"{name}, 20 MB", setting, 10000, 20000000 >> 10, directory)
        check_limits(f"{name}, large blocks", setting, 300000, 1 << 30, directory)
    check_given_back(directory)
tap.done()
