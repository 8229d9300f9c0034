#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""cprof symbolize: names, files, lines and inlined calls as other tools find them, and nothing else changed.

Programs of many kinds are profiled, and what is put into their profiles is compared, address by address, with what
eu-addr2line, addr2line and llvm-symbolizer say of the same files.
"""
import collections
import os
import re
import shutil
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.dont_write_bytecode = True
import toolkit  # noqa: E402
import pprof  # noqa: E402
import tap  # noqa: E402
import under  # noqa: E402
from elfsym import ElfSymbols  # noqa: E402


def source_name(name):
    """Without what the compiler adds to the symbols of its own variants of a function."""
    return re.sub(r"(\.(constprop|isra|part|cold|lto_priv|llvm)(\.\d+)*)+$", "", name)


def agrees(frames, answer):
    return [source_name(frame.system_name) for frame in frames] == [source_name(name) for name, _ in answer]


def places_agree(frames, answer):
    """Where the other tool knows a line, so do we, and the same."""
    return all(not file or file == "??" or line == 0 or (os.path.basename(frame.file), frame.line) == (file, line)
               for frame, (_, (file, line)) in zip(frames, answer))


def judge(frames, answers, symbol):
    """Why what we say of an address is wrong, or None. `symbol`: the function whose size covers it, if there is one.

    Each of the others has its ways: eu-addr2line and llvm-symbolizer miss inlined calls of units without
    .debug_aranges, or name the outermost function by its symbol; addr2line takes the nearest symbol however far away it is. So
    it is enough to agree with one of them."""
    placeholder = not frames or frames[0].system_name.startswith("[")
    known = {tool: answer for tool, answer in answers.items() if answer}
    if not known:
        return None if placeholder or symbol else f"{frames} is named by nobody else"
    if placeholder:
        return None if set(known) == {"addr2line"} and symbol is None else f"not named; but by {known}"
    same = [answer for answer in known.values() if agrees(frames, answer)]
    if not same:
        return f"{[frame.system_name for frame in frames]}; but {known}"
    if not any(places_agree(frames, answer) for answer in same):
        return f"{frames}; but {same}"
    return None


def compare(title, profile):
    """Every location of every file."""
    by_mapping = collections.defaultdict(list)
    for mapping, address, frames in toolkit.located(profile):
        if mapping and mapping.path.startswith("/"):
            by_mapping[mapping].append((address, frames))
    wrong, count, named = [], 0, 0
    tools = set()
    for mapping, locations in by_mapping.items():
        segments, _ = toolkit.executable_segments(mapping.path)
        addresses = [toolkit.to_vaddr(segments, address - mapping.start + mapping.offset) for address, _ in locations]
        if None in addresses:
            wrong.append(f"{mapping}: an address is in no segment")
            continue
        answers = toolkit.oracles(mapping.path, addresses)
        tools |= set(answers)
        try:
            symbols = ElfSymbols(mapping.path)
        except (OSError, ValueError):
            symbols = None
        for i, (_, frames) in enumerate(locations):
            count += 1
            named += bool(frames) and not frames[0].system_name.startswith("[")
            symbol = symbols.name(addresses[i]) if symbols else None
            why = judge(frames, {tool: answer[i] for tool, answer in answers.items()}, symbol)
            if why:
                wrong.append(f"{mapping.path} {addresses[i]:#x}: {why}")
    if len(tools) < 3:  # each of them alone is wrong about some
        tap.skip(f"{title}: named as by other tools", "eu-addr2line, addr2line and llvm-symbolizer are not all there")
        return
    tap.ok(not wrong and named, f"{title}: {named} of {count} locations named, as {', '.join(sorted(tools))} do", *wrong[:10])


def program(title, command, directory, *more):
    """Records a program, symbolizes, and looks at all that holds of every profile."""
    raw, done = (os.path.join(directory, f"{title.replace('/', '-').replace(' ', '-')}{suffix}.pb.gz") for suffix in ("", ".s"))
    toolkit.record(command, raw)
    if not os.path.exists(raw):
        tap.ok(False, f"{title}: there is a profile")
        return None
    began = time.monotonic()
    result = toolkit.symbolize(raw, done, *more)
    took = time.monotonic() - began
    tap.equal((result.returncode, result.stdout), (0, ""), f"{title}: symbolized")
    tap.equal(under.check([done]), "", f"{title}: cprof check is content")
    tap.ok(took < 10, f"{title}: within 10 seconds", f"took {took:.1f} s")
    before, after = pprof._message(toolkit.contents(raw)), pprof._message(toolkit.contents(done))
    same = [number for number in (1, 2, 7, 8, 9, 10, 11, 12, 13, 14) if before[number] != after[number]]
    tap.equal(same, [], f"{title}: sample types, samples and everything about the profile as a whole are as before")
    tap.equal(after[6][: len(before[6])], before[6], f"{title}: texts are where they were")
    was = toolkit.read(done), os.stat(done).st_ino
    result = toolkit.cprof("symbolize", done)
    tap.ok(result.returncode == 0 and (toolkit.read(done), os.stat(done).st_ino) == was, f"{title}: doing it again changes nothing")
    compare(title, done)
    return done


def real_programs(directory):
    for title, command in (
        ("jq", ["jq", "-n", "[range(100)] | map({a: .}) | length"]),
        ("sqlite3", ["sqlite3", ":memory:", "create table a(x); insert into a values(1); select * from a"]),
        ("python3", ["/usr/bin/python3", "-c", "import json; json.loads('[1, 2]')"]),
        ("redis-server", ["redis-server", "--version"]),
        ("perl", ["perl", "-e", "my @a = map { \"x$_\" } 1..1000; print scalar(@a)"]),
    ):
        if shutil.which(command[0]):
            program(title, command, directory)
        else:
            tap.skip(title, "not installed")


def compiled_programs(directory):
    source = os.path.join(HERE, "shapes.cc")
    variants = (
        ("g++ -O2 -g", "g++", ("-O2", "-g")),
        ("g++ -O0 -g", "g++", ("-O0", "-g")),
        ("g++ -O2 -g -no-pie -gdwarf-4", "g++", ("-O2", "-g", "-no-pie", "-gdwarf-4")),
        ("g++ -O2 -g -gz -flto", "g++", ("-O2", "-g", "-gz", "-flto")),
        ("g++ -O2 -g1", "g++", ("-O2", "-g1")),
        ("g++ -O2", "g++", ("-O2",)),
        ("g++ -O2 -s", "g++", ("-O2", "-s")),
        ("clang++ -O2 -g", "clang++", ("-O2", "-g")),
        ("clang++ -O2 -gline-tables-only", "clang++", ("-O2", "-gline-tables-only")),
    )
    for title, compiler, flags in variants:
        target = os.path.join(directory, "shapes" + title.replace(" ", "").replace("+", "x"))
        if not toolkit.build(compiler, source, target, *flags):
            tap.skip(title, f"no {compiler}")
            continue
        done = program(title, [target], directory)
        has_dwarf = any(flag.startswith("-g") for flag in flags)
        tap.equal(toolkit.flags_of(done, target), toolkit.FLAGS if has_dwarf else set(), f"{title}: flags tell what was found")
        if "-s" not in flags:
            found = toolkit.names(done)
            wanted = {"main", "plain_c", "geo::(anonymous namespace)::hidden", "geo::Box::Box", "geo::Vec::operator+",
                      "geo::Vec::operator<", "geo::Vec::operator()", "geo::closure", "geo::Circle::grow"}
            if "-O0" not in flags:
                wanted.remove("geo::Circle::grow")
            tap.ok(wanted <= found, f"{title}: names as people write them", f"missing: {wanted - found}")
    rust = os.path.join(HERE, "shapes.rs")
    for mangling in ("legacy", "v0"):
        target = os.path.join(directory, f"rust_{mangling}")
        flags = ["-g", "-O", "-C", "link-arg=-fuse-ld=bfd", "-C", f"symbol-mangling-version={mangling}"]
        # One of the two is the compiler's own choice; the other it may have only for those who insist.
        flags += ["-Z", "unstable-options"] if mangling == "legacy" else []
        if not toolkit.build("rustc", rust, target, *flags, env={**os.environ, "RUSTC_BOOTSTRAP": "1"}):
            tap.skip(f"rustc, {mangling} names", "no rustc that has it")
            continue
        found = toolkit.names(program(f"rustc {mangling}", [target], directory))
        wanted = r"<?shapes::store::Store(::)?<.*>?::(add|fill)"
        tap.ok(any(re.fullmatch(wanted, name) and name.endswith("add") for name in found) and
               any(name.endswith("::fill") and "shapes::store::Store" in name for name in found),
               f"rustc {mangling}: names as people write them", sorted(name for name in found if "store" in name.lower()))


toolkit.run_parts(real_programs, compiled_programs)
