#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A small file with debug information that is enormous once inflated: names from the symbol table, a line that says so, and
little memory; and a limit on the memory of the command that a program's end starts."""
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import zlib

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.dont_write_bytecode = True
import toolkit  # noqa: E402
import tap  # noqa: E402
import under  # noqa: E402

MIB = 1 << 20
INFLATED = 1100 * MIB
MOST_MEMORY = 200  # MiB


def zeroes(size):
    """What zlib makes of `size` bytes of zeroes, without having them: one MiB's block again and again."""
    deflate = zlib.compressobj(9, zlib.DEFLATED, -15)
    block = deflate.compress(bytes(MIB)) + deflate.flush(zlib.Z_FULL_FLUSH)
    checksum = (size % 65521) << 16 | 1
    return b"\x78\xda" + block * (size // MIB) + b"\x03\x00" + struct.pack(">I", checksum)


def replace(path, name, data, flags):
    """Gives the ELF file's section other contents, at its end."""
    with open(path, "rb") as file:
        image = bytearray(file.read())
    headers, = struct.unpack_from("<Q", image, 40)
    count, names = struct.unpack_from("<HH", image, 60)
    strings, = struct.unpack_from("<Q", image, headers + names * 64 + 24)
    for at in range(headers, headers + count * 64, 64):
        start = strings + struct.unpack_from("<I", image, at)[0]
        if image[start:image.index(0, start)].decode() == name:
            struct.pack_into("<Q", image, at + 8, struct.unpack_from("<Q", image, at + 8)[0] | flags)
            struct.pack_into("<QQ", image, at + 24, len(image), len(data))
            with open(path, "wb") as file:
                file.write(image + data)
            return
    raise ValueError(f"{path} has no {name}")


def standard(path):
    replace(path, ".debug_info", struct.pack("<IIQQ", 1, 0, INFLATED, 1) + zeroes(INFLATED), 0x800)


def spread(path):
    """None of them is too large, all together are."""
    for name in (".debug_info", ".debug_line", ".debug_abbrev"):
        size = 400 * MIB
        replace(path, name, struct.pack("<IIQQ", 1, 0, size, 1) + zeroes(size), 0x800)


def older(path):
    subprocess.run(["objcopy", "--rename-section", ".debug_info=.zdebug_info", path], check=True)
    replace(path, ".zdebug_info", b"ZLIB" + struct.pack(">Q", INFLATED) + zeroes(INFLATED), 0)


def separate(path):
    debug = f"{path}.debug"
    subprocess.run(["objcopy", "--only-keep-debug", path, debug], check=True)
    subprocess.run(["objcopy", "-g", f"--add-gnu-debuglink={debug}", path], check=True)
    standard(debug)


def check(directory, what, spoil, most=MOST_MEMORY):
    program, raw, named = (os.path.join(directory, f"{spoil.__name__}{end}") for end in ("", ".pb.gz", ".named.pb.gz"))
    shutil.copy(under.program("system/steps"), program)
    spoil(program)
    toolkit.record([program, "keep_a:100:10"], raw)
    with subprocess.Popen([under.CPROF, "symbolize", "-o", named, raw], stderr=subprocess.PIPE, text=True,
                          env=under.environment(preload=None, extra={"DEBUGINFOD_URLS": ""})) as process:
        errors = process.stderr.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    tap.equal((process.returncode, errors), (0, f"cprof: {raw}: no lines from {program}: its debug information is compressed, "
                                                "and more than 1 GiB without\n"), f"{what}: one line says it")
    frames = {frame.name for _, _, frames in toolkit.located(named) for frame in frames}
    tap.ok({"keep_a", "main"} <= frames, f"{what}: names come from the symbol table", frames)
    tap.ok(usage.ru_maxrss < most << 10, f"{what}: less than {most} MiB of memory", usage.ru_maxrss >> 10)


def check_limit(directory):
    """The command is looked for beside the library; here one that tells its limit is there."""
    said, command = os.path.join(directory, "limit"), os.path.join(directory, "cprof")
    for path in (under.LIBRARY, under.BACKEND):
        shutil.copy(path, directory)
    with open(command, "w", encoding="ascii") as file:
        file.write(f"#!/bin/sh\nulimit -v > {said}\n")
    os.chmod(command, 0o755)
    settings = {"RATE": "1", "OUT": os.path.join(directory, "x.pb.gz"), "SYMBOLIZE": "on"}
    for limit, wanted in (("unlimited", 3 << 20), (2 << 20, 2 << 20)):
        under.run(["sh", "-c", f"ulimit -v {limit}; exec {under.program('system/steps')} keep_a:100:10"], settings,
                  os.path.join(directory, "libcprof.so"))
        with open(said, encoding="ascii") as file:
            tap.equal(file.read().strip(), str(wanted), f"of a program with {limit} KiB: what names its profile has a limit")


with tempfile.TemporaryDirectory(prefix="cprof-large.") as place:
    if shutil.which("objcopy"):
        check(place, "a compressed section", standard)
        check(place, "several of them", spread, 1000)
        check(place, "a compressed section of the older kind", older)
        check(place, "a debug file", separate)
    else:
        tap.skip("large debug information", "no objcopy")
    check_limit(place)
tap.done()
