# SPDX-License-Identifier: Apache-2.0
"""What programs that hammer (tests/system/hammer.h) print, and what profiles of them hold.

    hammered.numbers("did", output)        of the line that begins with the word
    hammered.figures(profile)              [bytes, blocks, bytes in use, blocks in use] of all functions hammer_...
    hammered.far_off(profile)              estimates that are farther from the exact totals than they say; "" if none
"""
import re

import under

TYPES = ("alloc_space", "alloc_objects", "inuse_space", "inuse_objects")
SIGMAS = 5


def numbers(name, output):
    (line,) = (line.split() for line in output.splitlines() if line.split()[:1] == [name])
    return [int(field) for field in line[1:]]


def figures(profile):
    return [sum(value for name, value in profile.flat(kind).items() if name.startswith("hammer_")) for kind in TYPES]


def _errors(profile):
    """{type: one standard error} as the comment has it."""
    found = re.search(r"estimated alloc_space=(\d+) ±([\d.]+)% alloc_objects=(\d+) ±([\d.]+)%",
                      " ".join(profile.comments))
    space, space_error, objects, objects_error = (float(number) for number in found.groups())
    # The figure is rounded to a tenth of a per cent.
    return {"alloc_space": space * (space_error + 0.05) / 100, "alloc_objects": objects * (objects_error + 0.05) / 100}


def far_off(profile):
    exact = dict(zip(("alloc_space", "alloc_objects"), under.exact(profile)))
    return "; ".join(f"{kind} is {profile.total(kind)}, should be {exact[kind]} by {SIGMAS} times {error:.0f}"
                     for kind, error in _errors(profile).items()
                     if abs(profile.total(kind) - exact[kind]) > SIGMAS * error)
