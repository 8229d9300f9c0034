#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the program binds to is what it would bind to without us, but for the hooks. libunwind, for one, exports all of
the C++ runtime's unwinder; as a plain dependency of ours it would take over the exceptions of plugins."""
import glob
import os
import re
import shutil
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
sys.dont_write_bytecode = True
import tap  # noqa: E402
import under  # noqa: E402

OURS = ("libcprof.so", "libcprof-backend.so", "libunwind", "libprotobuf-c", "liblzma", "libz.so")


def short(path):
    return os.path.basename(path)


def bindings(command, directory, preload):
    """(result, {(who, symbol, to whom)}) as the loader made them."""
    log = os.path.join(directory, "bindings")
    result = under.run(command, preload=preload, extra={"LD_DEBUG": "bindings", "LD_DEBUG_OUTPUT": log,
                                                        "LD_BIND_NOW": "1"})
    found = set()
    for path in glob.glob(log + ".*"):
        with open(path, encoding="utf-8", errors="replace") as file:
            for line in file:
                match = re.search(r"binding file (\S+) \[0\] to (\S+) \[0\]: normal symbol `([^']+)'", line)
                if match:
                    found.add((short(match[1]), match[3], short(match[2])))
        os.remove(path)
    return result, found


def hooks():
    with open(os.path.join(under.ROOT, "preload/intercept/hooks.def"), encoding="utf-8") as file:
        return set(re.findall(r"^(?:HOOK|NEW|DELETE)\((\w+)\)", file.read(), re.MULTILINE))


def check(what, command, directory, wants_unwinder):
    plain, before = bindings(command, directory, None)
    result, after = bindings(command, directory, under.LIBRARY)
    tap.equal(under.outcome(result), under.outcome(plain), f"{what}: behaves as without the library")
    tap.ok(len(before) > 20 and plain.returncode == 0, f"{what}: the loader tells", plain, before)
    unwinder = {(who, symbol, to) for who, symbol, to in after
                if symbol.startswith("_Unwind_") and not who.startswith(OURS)}
    if wants_unwinder:
        tap.ok(any(symbol == "_Unwind_RaiseException" for _, symbol, _ in unwinder), f"{what}: throws", unwinder)
    tap.equal({to for _, _, to in unwinder} - {"libgcc_s.so.1"}, set(), f"{what}: exceptions are libgcc's")
    objects = {who for who, _, _ in before}  # libm, say, may be there for our backend's sake alone
    program = {binding for binding in after if binding[0] in objects}
    to_us = {symbol for _, symbol, to in program if to == "libcprof.so"}
    tap.ok("malloc" in to_us and not to_us - hooks(), f"{what}: binds to the hooks and nothing else of ours", to_us)
    # The hooks' names aside, everything is where it was.
    known = {name.split("@")[0] for name in hooks()}
    rest = {binding for binding in program if binding[1] not in known}
    before_rest = {binding for binding in before if binding[1] not in known}
    tap.equal(rest - before_rest, set(), f"{what}: all else binds as without us")


with tempfile.TemporaryDirectory(prefix="cprof-binding.") as place:
    plugin = under.program("system/thrower_plugin.so")
    check("plugins in C++", [under.program("system/thrower"), plugin, plugin], place, True)
    check("no plugin", [under.program("system/thrower")], place, False)
    node = shutil.which("node")  # has a zlib of its own among its symbols
    if node:
        script = "console.log(require('zlib').deflateSync(Buffer.alloc(100000, 'x')).toString('base64'))"
        check("node", [node, "-e", script], place, False)
    else:
        tap.skip("node", "it isn't installed")
tap.done()
