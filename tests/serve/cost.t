#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What cprof serve costs, in instructions, which are the same on a busy machine: to start, to send a large profile whose
names are known, and nothing to commands that don't serve."""
import gzip
import os
import re
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
sys.dont_write_bytecode = True
import live  # noqa: E402
import server  # noqa: E402
import tap  # noqa: E402
import under  # noqa: E402

STACKS = 20000
# Budgets. Measured were 0.7 million for the start of the command, and 5.4 with libmicrohttpd linked to it; for a byte of
# a profile before gzip 127, and 450 when each sample was unpacked so that names could be put in.
START = 1.5e6
PER_BYTE = 160

if not shutil.which("valgrind"):
    tap.skip_all("valgrind is not installed")
if not live.private_shm("1G"):
    tap.skip_all("a /dev/shm of its own can't be mounted here")


class Counted(server.Server):
    """A server under callgrind, which says at its end how many instructions it took; of the process that looks up names
    as well, if that ends later."""
    command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", "--trace-children=no"]

    def instructions(self):
        self.stop()
        return instructions(self.stderr, self.process.pid)


def instructions(text, pid=None):
    found = re.findall(r"^==(\d+)== I +refs: +([\d,]+)", text, re.M)
    counts = [int(count.replace(",", "")) for number, count in found if pid is None or int(number) == pid]
    return counts[-1] if counts else 0


def ask(pid, count):
    """Instructions for the server's life with so many requests, and the last answer."""
    with Counted("--pid", pid) as served:
        for _ in range(count):
            answer = served.get("/debug/pprof/heap", timeout=under.TIMEOUT)
        return served.instructions(), answer.body


def check_start():
    result = under.plain([*Counted.command, under.CPROF, "--version"])
    count = instructions(result.stderr)
    tap.ok(0 < count < START, f"the command starts in less than {START:.0f} instructions", count)
    needed = under.plain(["ldd", under.CPROF]).stdout
    tap.ok("libz" in needed and "libmicrohttpd" not in needed and "gnutls" not in needed,
           "libraries that only the server needs are loaded by it alone", needed)


def check_profile(place):
    program = server.Rhythm(place)
    program.tell(f"branch {STACKS}")
    few, _ = ask(program.pid, 2)
    many, body = ask(program.pid, 6)
    size = len(gzip.decompress(body))
    each = (many - few) / 4
    tap.ok(size > 500000, f"a profile of {STACKS} stacks is large", size)
    tap.ok(few > each > 0 and each / size < PER_BYTE, f"one more request: less than {PER_BYTE} instructions for each byte",
           f"{each / 1e6:.1f} million for {size} bytes: {each / size:.1f}")
    tap.diagnose(f"{each / size:.1f} instructions a byte")


check_start()
with live.Place() as PLACE:
    check_profile(PLACE)
tap.done()
