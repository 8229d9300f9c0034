#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The page of cprof flame in Chromium: flame_browser.js has what is done with it. Pictures stay in build/browser."""
import os
import random
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
sys.dont_write_bytecode = True
from toolkit import Maker, cprof  # noqa: E402
import browser  # noqa: E402  found by toolkit
import tap  # noqa: E402

TYPES = (("alloc_objects", "count"), ("alloc_space", "bytes"), ("inuse_objects", "count"), ("inuse_space", "bytes"))


def make_small(path):
    maker = Maker(TYPES)
    program = maker.mapping("/usr/bin/made", 0x1000, 0x100000, build_id="abc123")
    library = maker.mapping("/usr/lib/libthing.so.3", 0x200000, 0x300000)
    places = {}
    for i, (name, line, mapping) in enumerate((
            ("_start", 0, program), ("main", 40, program), ("parse", 12, program), ("alloc_node", 7, program),
            ("render", 88, program), ("draw", 5, library), ("<b>bold</b>", 3, library))):
        function = maker.function(name, filename=f"{name.split('_', 1)[0]}.c" if line else "")
        places[name] = maker.location(mapping, (0x1000 if mapping == program else 0x200000) + i, [(function, line)])
    inner, outer = maker.function("small_vector", filename="vector.h"), maker.function("grow", filename="vector.c")
    places["inlined"] = maker.location(program, 0x5000, [(inner, 20), (outer, 30)])

    def sample(values, *stack):
        maker.sample([places[name] for name in reversed(stack)], values)

    sample([10, 1000, 10, 1000], "main", "parse", "alloc_node")
    sample([20, 2000, 20, 2000], "main", "parse", "alloc_node", "inlined", "alloc_node", "alloc_node")
    sample([5, 500, 5, 500], "main", "render", "draw")
    sample([6, 600, 5, 500], "main", "render", "draw", "<b>bold</b>")
    maker.head(14, "inuse_space")
    maker.head(13, "cprof 0: exact alloc_space=4100 alloc_objects=41; every allocation recorded")
    maker.write(path)


def make_large(path, wanted):
    """A profile whose tree has that many frames, broad and deep as those of large programs are."""
    chance, maker, seen, places = random.Random(7), Maker(TYPES), set(), []
    mappings = [maker.mapping(name, start, start + (1 << 32)) for start, name in
                ((1 << 32, "/usr/bin/big"), (2 << 32, "/usr/lib/libthing.so.3"), (3 << 32, "/lib/libc.so.6"))]
    for i in range(4000):
        function = maker.function(f"ns{i % 5}::Type{i % 97}::method_{i}", filename=f"/src/dir{i % 31}/file{i % 211}.cc")
        which = chance.choice((0, 0, 0, 1, 2))
        places.append(maker.location(mappings[which], ((which + 1) << 32) + i, [(function, 10 + i % 900)]))
    while len(seen) < wanted:
        path_down = (places[0],)
        for _ in range(chance.randint(8, 60)):
            path_down += (places[(path_down[-1] * 7 + int(chance.paretovariate(0.7)) % 60) % len(places)],)
            seen.add(path_down)
        count, size = chance.randint(1, 50), chance.choice((16, 32, 64, 100, 4096))
        maker.sample(list(reversed(path_down)), [count, count * size, count // 3, count // 3 * size])
    maker.write(path)


reason = browser.missing()
if reason:
    tap.skip_all(reason)
for name, make, more in (("small", make_small, ()), ("large", make_large, (100001,))):
    profile = os.path.join(browser.PLACE, f"{name}.pb.gz")
    make(profile, *more)
    page = cprof("flame", "--symbolize", "no", "-o", os.path.join(browser.PLACE, f"{name}.html"), profile)
    tap.equal((page.returncode, page.stderr), (0, ""), f"the {name} page is made")
browser.run("flame_browser.js")
tap.done()
