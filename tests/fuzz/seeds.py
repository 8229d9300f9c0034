#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the corpus: small files, each with something that the others have not.

    tests/fuzz/seeds.py DIRECTORY
"""
import gzip
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
sys.dont_write_bytecode = True
from toolkit import Maker, contents, field  # noqa: E402

TYPES = (("alloc_objects", "count"), ("alloc_space", "bytes"), ("inuse_objects", "count"), ("inuse_space", "bytes"))


def whole():
    """A profile with an entry of every kind."""
    maker = Maker(TYPES)
    program = maker.mapping("/bin/made", 0x1000, 0x9000, 0x1000, "ab12")
    library = maker.mapping("/lib/libthing.so", 0x10000, 0x20000)
    main, inner = maker.function("main", filename="main.c"), maker.function("inner(int)", "_Z5inneri", "in.cc")
    places = [maker.location(program, 0x1100, [(inner, 7), (main, 12)]), maker.location(program, 0x1200, [(main, 20)]),
              maker.location(library, 0x10010), maker.location(0, 0x77)]
    maker.sample(places, [4, 400, 1, 100])
    maker.sample(places[1:], [1, 16, 0, 0])
    label = field(1, maker.text("bytes")) + field(3, 16) + field(4, maker.text("bytes"))
    numbers = field(1, bytes([1, 2])) + field(2, bytes([1, 16, 0, 0]))
    maker._body.append(field(2, numbers + field(3, label)))
    for number, value in ((7, "malloc|operator new.*"), (8, "keep"), (9, 1700000000 << 30), (10, 5 << 30), (12, 512),
                          (13, "a comment"), (14, "inuse_space")):
        maker.head(number, value)
    maker._body.append(field(11, field(1, maker.text("space")) + field(2, maker.text("bytes"))))
    return maker


def no_samples():
    maker = Maker(TYPES)
    maker.mapping("/bin/made", 0x1000, 0x9000)
    return maker


def large_values():
    maker = Maker()
    place = maker.location(0, 0xffffffffffffffff, [(maker.function("f" * 300), 2**31)])
    for value in (2**63 - 1, -(2**63), 2**62):
        maker.sample([place] * 50, [value])
    return maker


def other_ids():
    """Ids that are no row of numbers from 1."""
    maker = Maker()
    function = maker.text("f")
    maker._body += [field(5, field(1, 900) + field(2, function)), field(4, field(1, 70) + field(4, field(1, 900))),
                    field(2, field(1, bytes([70])) + field(2, bytes([5])))]
    return maker


def dangling():
    maker = Maker()
    maker._body.append(field(2, field(1, bytes([9])) + field(2, bytes([1]))))
    return maker


def odd_texts():
    maker = Maker((("</script>", "\u2028"),))
    maker.sample([maker.location(0, i, [(maker.function(name, filename=name), 1)]) for i, name in
                  enumerate(("<!--", "a;b\n", "\0", "\U0001f525", "&\"'\\"))], [1])
    maker._body.append(field(6, b"\xff\xfe\xc0\x80\xed\xa0\x80"))
    return maker


def main(place):
    os.makedirs(place, exist_ok=True)

    def write(name, data):
        with open(os.path.join(place, name), "wb") as file:
            file.write(data)

    for make in (whole, no_samples, large_values, other_ids, dangling, odd_texts):
        name = make.__name__.replace("_", "-")
        path = os.path.join(place, name)
        make().write(path)
        write(name, contents(path))
    message = contents(os.path.join(place, "whole"))
    packed = gzip.compress(message, 9, mtime=0)
    write("gzip", packed)
    write("gzip-members", packed + gzip.compress(field(12, 5), 9, mtime=0))
    write("gzip-cut", packed[:-9])
    write("gzip-damaged", packed[:40] + b"\0\xff\0" + packed[43:])
    write("cut", message[:-3])
    write("twice", message + message)
    write("empty", b"")
    write("long-number", b"\x60" + b"\xff" * 12)
    write("long-field", b"\x32\xff\xff\xff\xff\x0f")


main(sys.argv[1])
