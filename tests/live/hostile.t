#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Segments that are cut off, damaged or forged: they are refused with a reason, or what is sound in them is shown;
nothing worse. ROUNDS says how many are made at random."""
import os
import random
import re
import shutil
import struct
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
sys.dont_write_bytecode = True
import live  # noqa: E402
import tap  # noqa: E402
import under  # noqa: E402

STILL = under.program("live/still")
ROUNDS = int(os.environ.get("ROUNDS") or 100)
PAGE = 4096
REGIONS, EXTENT = 8, 32
ODD = (0, 1, 2, 0x7F, 0xFF, 0xFFFF, 0x7FFFFFFF, 0xFFFFFFFF, 1 << 32, (1 << 63) - 1, (1 << 64) - 1)

if not live.private_shm("1G"):
    tap.skip_all("a /dev/shm of its own can't be mounted here")


def recover(path, out):
    """True if it was made or refused as it should; else what happened."""
    if os.path.exists(out):
        os.unlink(out)
    begun = time.monotonic()
    result = live.cprof("recover", "--keep", "--no-symbolize", "-o", out, path)
    seconds = time.monotonic() - begun
    if seconds > 20:
        return f"took {seconds:.0f} s"
    if result.returncode == 0:
        return not os.path.exists(out) or not under.check([out]) or f"not valid: {under.check([out])}"
    refused = result.returncode in (2, 3, 5, 6) and re.fullmatch(r"(cprof: .+: .+\n)+(Try .*\n)?", result.stderr)
    return bool(refused) or f"status {result.returncode}, {result.stderr}"


def damaged(path, changes):
    """Writes (offset, bytes) into it; returns what undoes that."""
    before = []
    with open(path, "r+b") as file:
        for offset, data in changes:
            file.seek(offset)
            before.append((offset, file.read(len(data))))
            file.seek(offset)
            file.write(data)
    return before[::-1]


def extents(path):
    """(offset, entry size, capacity, used) of the regions, and where these numbers are."""
    with open(path, "rb") as file:
        header = file.read(PAGE)
    size = struct.unpack_from("<I", header, 12)[0]
    start = size - REGIONS * EXTENT
    return start, [struct.unpack_from("<4Q", header, start + i * EXTENT) for i in range(REGIONS)], size


def check_random(path, out, rng):
    start, regions, header_size = extents(path)
    wrong = []
    for _ in range(ROUNDS):
        changes = []
        for _ in range(rng.choice((1, 1, 2, 8, 64))):
            width = rng.choice((4, 8))
            value = (rng.choice(ODD + (rng.getrandbits(64),)) & ((1 << 8 * width) - 1)).to_bytes(width, "little")
            if rng.random() < 0.4:
                changes.append((rng.randrange(16, header_size - width, 4), value))
            else:
                offset, entry, _, used = rng.choice([region for region in regions if region[3]])
                changes.append((offset + rng.randrange(0, max(used * entry - width, 1), 4 if entry > 1 else 1), value))
        undo = damaged(path, changes)
        verdict = recover(path, out)
        if verdict is not True:
            wrong.append((changes, verdict))
        damaged(path, undo)
    tap.equal(wrong[:3], [], f"{ROUNDS} segments with random damage: refused, or read without harm")


def check_fields(path, out):
    """Every number of the table of regions, and those before it, with every odd value."""
    start, _, _ = extents(path)
    wrong = []
    for offset in [*range(0, 40, 4), *range(start, start + REGIONS * EXTENT, 8)]:
        for value in ODD[:: 1 if offset >= start else 2]:
            undo = damaged(path, [(offset, value.to_bytes(8, "little"))])
            verdict = recover(path, out)
            if verdict is not True:
                wrong.append((offset, value, verdict))
            damaged(path, undo)
    tap.equal(wrong[:3], [], "odd values in every number of the header")


def check_regions(path, out):
    _, regions, _ = extents(path)
    wrong = []
    for i, (offset, entry, _, used) in enumerate(regions):
        for fill in (b"\0", b"\xff", b"\x01\0\0\0\0\0\0\0"):
            undo = damaged(path, [(offset, (fill * (used * entry))[: used * entry])])
            verdict = recover(path, out)
            if verdict is not True:
                wrong.append((i, fill, verdict))
            damaged(path, undo)
    tap.equal(wrong, [], "regions full of one value")


def check_cut(path, out, place):
    wrong = []
    for size in (0, 1, 100, PAGE - 1, PAGE, PAGE + 1, 1 << 20, os.stat(path).st_size - 1):
        piece = place.file("piece.segment")
        subprocess.run(["cp", "--sparse=always", path, piece], check=True)
        os.truncate(piece, size)
        result = live.cprof("recover", "-o", out, piece)
        if result.returncode != 3 or not re.fullmatch(r"cprof: .+: .+\n", result.stderr):
            wrong.append((size, result))
    tap.equal(wrong, [], "cut off anywhere: refused, with a reason")
    shutil.copy(path, piece)
    result = live.cprof("recover", "--keep", "-o", piece, piece)
    tap.ok(result.returncode == 2 and "would be replaced" in result.stderr and os.stat(piece).st_size == os.stat(path).st_size,
           "a profile does not take the place of what it is made of", result)


def check_cut_meanwhile(path, out, place, rng):
    """Whoever owns a file may cut it off while it is read."""
    wrong = []
    piece = place.file("piece.segment")
    for _ in range(40):
        subprocess.run(["cp", "--sparse=always", path, piece], check=True)
        timer = threading.Timer(rng.random() / 50, os.truncate, (piece, rng.choice((0, PAGE, 1 << 20))))
        timer.start()
        verdict = recover(piece, out)
        timer.join()
        if verdict is not True:
            wrong.append(verdict)
    tap.equal(wrong, [], "cut off while it is read: refused, or read before")


def check_strangers():
    directory = f"/dev/shm/cprof-{os.geteuid()}"
    strangers = {"1-1.segment": lambda path: os.mkfifo(path),
                 "2-2.segment": lambda path: os.symlink("/etc/passwd", path),
                 "3-3.segment": lambda path: os.mkdir(path), "4-4.segment": lambda path: open(path, "wb").close(),
                 "not a segment": lambda path: open(path, "wb").close()}
    for name, make in strangers.items():
        make(os.path.join(directory, name))
    result = live.cprof("ls", timeout=20)
    tap.ok(result.returncode == 3 and result.stderr.count("\n") >= 3, "ls: strange files are named, and passed over",
           result)
    live.cprof("recover", "--all", timeout=20)
    left = sorted(os.listdir(directory))
    tap.equal(left, ["1-1.segment", "2-2.segment", "3-3.segment", "not a segment"],
              "recover --all: they stay, but for one that nothing was written to")
    for name in left:
        path = os.path.join(directory, name)
        (os.rmdir if os.path.isdir(path) and not os.path.islink(path) else os.unlink)(path)


seed = int(os.environ.get("SEED") or random.randrange(1 << 32))
tap.diagnose(f"SEED={seed}")
with live.Place() as place:
    process = place.start([STILL, "sleep"])
    process.kill()
    process.wait()
    (segment,) = live.segments_of(process.pid)
    target = "/dev/shm/victim.segment"
    subprocess.run(["cp", "--sparse=always", segment, target], check=True)
    profile = place.file("out.pb.gz")
    tap.equal((recover(target, profile), os.path.exists(profile)), (True, True), "unharmed, it is read")
    check_fields(target, profile)
    check_regions(target, profile)
    check_random(target, profile, random.Random(seed))
    check_cut(target, profile, place)
    check_cut_meanwhile(target, profile, place, random.Random(seed))
    tap.equal((recover(target, profile), live.totals(profile)["alloc_objects"] >= 1500), (True, True),
              "mended, it is read again")
    check_strangers()
tap.done()
