#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reads pprof profiles, for the tests. Python's standard library is all it needs.

    import pprof
    profile = pprof.load("cprof.app.123.pb.gz")
    profile.flat("alloc_space")["build_index"]     bytes allocated by build_index itself
    profile.cum("alloc_objects")["main"]           blocks allocated by main and all it called
    profile.total("inuse_space")
    for sample in profile.samples:
        sample.stack                               names, the leaf first, inlined functions told apart
        sample.values["alloc_space"], sample.labels.get("bytes")

Files may be gzipped (in one member or several) or plain, and may be several messages behind each other, which protobuf
reads as one. Locations that have no lines are given the names of their file's symbol tables; where there are none the
name is "file+0xoffset". Run as a program it prints the functions that own most:

    tests/lib/pprof.py FILE [TYPE [COUNT]]
"""
import collections
import gzip
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from elfsym import ElfSymbols  # noqa: E402  found beside this file

Frame = collections.namedtuple("Frame", "name file line")
Mapping = collections.namedtuple("Mapping", "id start limit offset path build_id flags")
Location = collections.namedtuple("Location", "id mapping address lines")
Sample = collections.namedtuple("Sample", "stack frames locations values labels")


_symbols = {}  # {(path, time, size): ElfSymbols}; of all profiles, since most have libc in common


def _symbols_of(path):
    try:
        status = os.stat(path)
        key = path, status.st_mtime_ns, status.st_size
        if key not in _symbols:
            _symbols[key] = ElfSymbols(path)
    except (OSError, ValueError):
        return None
    return _symbols[key]


class Malformed(Exception):
    """The file is not a profile; the message says why."""


def _varint(data, at):
    value = shift = 0
    while True:
        if at >= len(data) or shift > 63:
            raise Malformed("a number is cut short or too long")
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7


def _fields(data):
    """Yields (field number, value) of one message: integers, or bytes for everything that has a length."""
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        kind = key & 7
        if kind == 0:
            value, at = _varint(data, at)
        elif kind == 2:
            size, at = _varint(data, at)
            value = data[at : at + size]
            if len(value) != size:
                raise Malformed("a field is longer than the file")
            at += size
        elif kind in (1, 5):
            size = 8 if kind == 1 else 4
            value = int.from_bytes(data[at : at + size], "little")
            at += size
        else:
            raise Malformed(f"wire type {kind}")
        yield key >> 3, value


def _signed(value):
    return value - (1 << 64) if value >> 63 else value


def _simplified(name):
    """The name without its parameters, the way pprof looks at it before it drops frames."""
    cut = re.search(r"(?<!operator)\((?!anonymous namespace\))", name)
    return name[: cut.start()] if cut else name


def _message(data):
    """A message as {field number: [values]}, in the order they came."""
    fields = collections.defaultdict(list)
    for number, value in _fields(data):
        fields[number].append(value)
    return fields


def _numbers(values):
    """A repeated integer, packed or not."""
    numbers = []
    for value in values:
        if isinstance(value, int):
            numbers.append(value)
            continue
        at = 0
        while at < len(value):
            number, at = _varint(value, at)
            numbers.append(number)
    return numbers


class Profile:
    """A profile. What the format knows by number is given by name here; see the module's text for the rest.

    sample_types   [(type, unit)], as in the file          period, period_type, default_sample_type
    samples        [Sample]                                time_nanos, duration_nanos
    mappings       [Mapping], as in the file               drop_frames, keep_frames: regular expressions or ""
    locations      {id: Location}                          comments: [text]
    """

    def __init__(self, data, symbolize=True):
        message = _message(data)
        self._strings = [text.decode("utf-8", "replace") for text in message[6]]
        if not self._strings or self._strings[0]:
            raise Malformed("the first string is not the empty one")
        self._symbolize = symbolize
        self.sample_types = [self._type(value) for value in message[1]]
        self.mappings = [self._mapping(_message(value)) for value in message[3]]
        self._mapping_by_id = {mapping.id: mapping for mapping in self.mappings}
        functions = {}
        for value in message[5]:
            function = _message(value)
            functions[self._last(function, 1)] = (self._text(function, 2), self._text(function, 4))
        self.locations = {}
        for value in message[4]:
            location = self._location(_message(value), functions)
            self.locations[location.id] = location
        self.drop_frames = self._text(message, 7)
        self.keep_frames = self._text(message, 8)
        self.time_nanos = _signed(self._last(message, 9))
        self.duration_nanos = _signed(self._last(message, 10))
        self.period_type = self._type(message[11][-1]) if message[11] else ("", "")
        self.period = _signed(self._last(message, 12))
        self.comments = [self._string(index) for index in _numbers(message[13])]
        self.default_sample_type = self._text(message, 14)
        self.samples = [self._sample(_message(value)) for value in message[2]]

    @staticmethod
    def _last(message, number):
        return message[number][-1] if message[number] else 0

    def _string(self, index):
        if index >= len(self._strings):
            raise Malformed(f"string {index} of {len(self._strings)}")
        return self._strings[index]

    def _text(self, message, number):
        return self._string(self._last(message, number))

    def _type(self, data):
        message = _message(data)
        return self._text(message, 1), self._text(message, 2)

    def _mapping(self, message):
        flags = {name for bit, name in enumerate(("functions", "filenames", "line_numbers", "inline_frames"), 7)
                 if self._last(message, bit)}
        return Mapping(self._last(message, 1), self._last(message, 2), self._last(message, 3), self._last(message, 4),
                       self._text(message, 5), self._text(message, 6), flags)

    def _location(self, message, functions):
        ident, mapping_id, address = (self._last(message, number) for number in (1, 2, 3))
        if mapping_id and mapping_id not in self._mapping_by_id:
            raise Malformed(f"location {ident} is in mapping {mapping_id}, which isn't there")
        mapping = self._mapping_by_id.get(mapping_id)
        lines = []
        for value in message[4]:
            line = _message(value)
            if self._last(line, 1) not in functions:
                raise Malformed(f"location {ident} names function {self._last(line, 1)}, which isn't there")
            lines.append(Frame(*functions[self._last(line, 1)], _signed(self._last(line, 2))))
        return Location(ident, mapping, address, lines or [Frame(self._symbol(mapping, address), "", 0)])

    def _symbol(self, mapping, address):
        if mapping is None:
            return hex(address)
        offset = address - mapping.start + mapping.offset
        unknown = f"{os.path.basename(mapping.path)}+{offset:#x}"
        symbols = _symbols_of(mapping.path) if self._symbolize else None
        vaddr = symbols.vaddr(offset) if symbols else None
        return (symbols.name(vaddr) if vaddr is not None else None) or unknown

    def _sample(self, message):
        locations = []
        for ident in _numbers(message[1]):
            if ident not in self.locations:
                raise Malformed(f"a sample names location {ident}, which isn't there")
            locations.append(self.locations[ident])
        values = [_signed(value) for value in _numbers(message[2])]
        if len(values) != len(self.sample_types):
            raise Malformed(f"a sample has {len(values)} values, there are {len(self.sample_types)} types")
        labels = {}
        for value in message[3]:
            label = _message(value)
            text = self._text(label, 2)
            labels[self._text(label, 1)] = text if text else _signed(self._last(label, 3))
        frames = [frame for location in locations for frame in location.lines]
        return Sample([frame.name for frame in frames], frames, locations,
                      {name: value for (name, _), value in zip(self.sample_types, values)}, labels)

    def pruned(self, sample):
        """The sample's stack as pprof shows it: without what drop_frames says, and all that was called by that."""
        if not self.drop_frames:
            return sample.stack
        drop = re.compile(f"^(?:{self.drop_frames})$")
        keep = re.compile(f"^(?:{self.keep_frames})$") if self.keep_frames else None
        stack, user = sample.stack, False
        for i in range(len(stack) - 1, -1, -1):
            name = _simplified(stack[i])
            if drop.match(name) and not (keep and keep.match(name)):
                if user:  # the outermost frames are never dropped
                    return stack[i + 1 :]
            else:
                user = True
        return stack

    def _check(self, sample_type):
        if sample_type not in dict(self.sample_types):
            raise KeyError(f"no sample type {sample_type}; there are {', '.join(dict(self.sample_types))}")

    def flat(self, sample_type, prune=True):
        """{function: what its own frame, being the leaf, stands for}, as the column flat of `pprof -top`."""
        self._check(sample_type)
        totals = collections.Counter()
        for sample in self.samples:
            stack = self.pruned(sample) if prune else sample.stack
            totals[stack[0] if stack else ""] += sample.values[sample_type]
        return totals

    def cum(self, sample_type, prune=True):
        """{function: what it and all it called stand for}; recursion counts once, as in pprof."""
        self._check(sample_type)
        totals = collections.Counter()
        for sample in self.samples:
            for name in set(self.pruned(sample) if prune else sample.stack):
                totals[name] += sample.values[sample_type]
        return totals

    def total(self, sample_type):
        self._check(sample_type)
        return sum(sample.values[sample_type] for sample in self.samples)


def load(path, symbolize=True):
    """Reads the profile at `path`. Raises OSError or Malformed. With symbolize=False names that the file does not
    give are left as "file+0xoffset"."""
    with open(path, "rb") as file:
        data = file.read()
    if data[:2] == b"\x1f\x8b":
        try:
            data = gzip.decompress(data)
        except (EOFError, ValueError) as error:
            raise Malformed(f"{path}: {error}") from error
    try:
        return Profile(data, symbolize)
    except Malformed as error:
        raise Malformed(f"{path}: {error}") from None


def main(arguments):
    if not 1 <= len(arguments) <= 3 or arguments[0].startswith("-"):
        sys.exit("usage: pprof.py FILE [TYPE [COUNT]]")
    profile = load(arguments[0])
    sample_type = arguments[1] if len(arguments) > 1 else "alloc_space"
    count = int(arguments[2]) if len(arguments) > 2 else 20
    flat, cum = profile.flat(sample_type), profile.cum(sample_type)
    for comment in profile.comments:
        print(comment)
    print(f"{sample_type}: {profile.total(sample_type)} in {len(profile.samples)} samples")
    print(f"{'flat':>16} {'cum':>16}")
    for name in sorted(cum, key=lambda name: (-flat[name], -cum[name], name))[:count]:
        print(f"{flat[name]:16} {cum[name]:16}  {name}")


if __name__ == "__main__":
    main(sys.argv[1:])
