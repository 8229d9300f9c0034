#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The reader of profiles that other tests rely on (pprof.py), on profiles put together by hand."""
import gzip
import os
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True
import pprof  # noqa: E402
import tap  # noqa: E402


def varint(value):
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes(out) + bytes([value])


def field(number, value):
    """A number, or bytes with their length."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def message(*fields):
    return b"".join(field(number, value) for number, value in fields)


STRINGS = ["", "space", "bytes", "main", "leaf", "inlined", "operator new(unsigned long)", "operator new", "/no/file",
           "note"]
HEAD = message(
    (1, message((1, 1), (2, 2))),
    (3, message((1, 1), (2, 0x1000), (3, 0x2000), (4, 0x100), (5, 8), (7, 1), (10, 1))),
    *((5, message((1, i), (2, name))) for i, name in ((1, 3), (2, 4), (3, 5), (4, 6))),
    (4, message((1, 1), (2, 1), (3, 0x1010), (4, message((1, 1), (2, 7))))),
    (4, message((1, 2), (2, 1), (3, 0x1020), (4, message((1, 3))), (4, message((1, 2))))),  # inlined into leaf
    (4, message((1, 3), (2, 1), (3, 0x1030), (4, message((1, 4))))),
    (4, message((1, 4), (2, 1), (3, 0x1040))),  # without a name
    *((6, text.encode()) for text in STRINGS),
)
SAMPLES = message(
    (2, message((1, varint(2) + varint(1)), (2, varint(100)), (3, message((1, 2), (3, 50))))),  # packed
    (2, message((1, 3), (1, 2), (1, 1), (2, -1))),
    (2, message((1, 4), (1, 1), (1, 1), (2, 7))),
)
TAIL = message((7, 7), (11, message((1, 1), (2, 2))), (12, 512), (13, 9))


def read(data):
    with tempfile.NamedTemporaryFile(prefix="cprof-pprof.") as file:
        file.write(data)
        file.flush()
        return pprof.load(file.name)


def refused(data):
    try:
        read(data)
    except pprof.Malformed:
        return True
    return False


def main():
    for how, data in (("plain", HEAD + SAMPLES + TAIL), ("gzipped", gzip.compress(HEAD + SAMPLES + TAIL)),
                      ("in two gzip members", gzip.compress(HEAD) + gzip.compress(SAMPLES + TAIL)),
                      ("with the strings at the end", TAIL + SAMPLES + HEAD)):
        profile = read(data)
        tap.equal([sample.stack for sample in profile.samples],
                  [["inlined", "leaf", "main"], ["operator new(unsigned long)", "inlined", "leaf", "main"],
                   ["file+0x140", "main", "main"]], f"{how}: stacks")
        tap.equal([sample.values["space"] for sample in profile.samples], [100, -1, 7], f"{how}: values")
        tap.equal((profile.samples[0].labels, profile.comments, profile.period, profile.period_type),
                  ({"bytes": 50}, ["note"], 512, ("space", "bytes")), f"{how}: labels, comment, period")
    tap.equal(dict(profile.flat("space")), {"inlined": 99, "file+0x140": 7}, "flat, without dropped frames")
    tap.equal(profile.flat("space", prune=False)["operator new(unsigned long)"], -1, "flat, with them")
    tap.equal(profile.cum("space")["main"], 106, "cum counts recursion once")
    tap.equal(profile.total("space"), 106, "total")
    tap.equal(profile.samples[0].frames[2], pprof.Frame("main", "", 7), "a frame has its line")
    tap.equal(profile.mappings[0].flags, {"functions", "inline_frames"}, "flags of a mapping")
    whole = HEAD + SAMPLES + TAIL
    tap.ok(refused(b"") and refused(whole[:-1]) and refused(gzip.compress(whole)[:-9]), "what is cut short is refused")
    tap.ok(refused(whole + message((2, message((1, 9), (2, 1))))), "a location that isn't there is refused")
    tap.ok(refused(whole + message((2, message((1, 1), (2, 1), (2, 1))))), "a value too many is refused")
    own = pprof.ElfSymbols(os.path.realpath("/proc/self/exe"))
    tap.ok(own.starts and all(own.name(start) for start in own.starts[:100]), "functions of an ELF file are found")
    tap.done()


if __name__ == "__main__":
    main()
