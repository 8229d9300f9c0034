# SPDX-License-Identifier: Apache-2.0
"""Names of functions in an ELF file, for the tests that read profiles nobody has symbolized.

Reads the symbol tables itself (64-bit little-endian files, .symtab and .dynsym), so that it needs no binutils and
finds static functions as well. It knows nothing of debug information: inlined functions are not told apart.
"""
import bisect
import struct

PT_LOAD = 1
SHT_SYMTAB, SHT_DYNSYM = 2, 11
STT_FUNC, STT_GNU_IFUNC = 2, 10
STB_LOCAL, STB_GLOBAL, STB_WEAK = 0, 1, 2


class ElfSymbols:
    """The functions of one file, to be found by ELF virtual address."""

    def __init__(self, path):
        with open(path, "rb") as file:
            data = file.read()
        if data[:6] != b"\x7fELF\x02\x01":
            raise ValueError(f"{path}: not a 64-bit little-endian ELF file")
        header = struct.unpack_from("<HHIQQQIHHHHHH", data, 16)
        phoff, shoff, phentsize, phnum, shentsize, shnum = header[4], header[5], *header[8:12]
        self.segments = []  # (file offset, virtual address, bytes in the file)
        for i in range(phnum):
            kind, _, offset, vaddr, _, filesz, _, _ = struct.unpack_from("<IIQQQQQQ", data, phoff + i * phentsize)
            if kind == PT_LOAD:
                self.segments.append((offset, vaddr, filesz))
        sections = [struct.unpack_from("<IIQQQQIIQQ", data, shoff + i * shentsize) for i in range(shnum)]
        found = {}  # virtual address: (rank, size, name); the best name of each address
        for kind in (SHT_DYNSYM, SHT_SYMTAB):
            for section in sections:
                if section[1] == kind:
                    self._read_table(data, section, sections[section[6]], found)
        self.starts = sorted(found)
        self.functions = [found[start] for start in self.starts]

    @staticmethod
    def _read_table(data, table, strings, found):
        for at in range(table[4], table[4] + table[5], 24):
            name_at, info, _, section, value, size = struct.unpack_from("<IBBHQQ", data, at)
            if info & 15 not in (STT_FUNC, STT_GNU_IFUNC) or not section:
                continue
            start = strings[4] + name_at
            name = data[start : data.index(b"\0", start)].decode("utf-8", "replace")
            # Aliases: one with a size before one without, global before weak before local, the shortest.
            binding = {STB_GLOBAL: 0, STB_WEAK: 1, STB_LOCAL: 2}.get(info >> 4, 3)
            rank = (size == 0, binding, len(name), name)
            if value not in found or rank < found[value][0]:
                found[value] = (rank, size, name)

    def vaddr(self, file_offset):
        """The ELF virtual address of a place in the file, or None."""
        for offset, vaddr, filesz in self.segments:
            if offset <= file_offset < offset + filesz:
                return file_offset - offset + vaddr
        return None

    def name(self, vaddr):
        """The function that `vaddr` lies in, or None."""
        i = bisect.bisect_right(self.starts, vaddr) - 1
        if i < 0:
            return None
        _, size, name = self.functions[i]
        return name if vaddr < self.starts[i] + size or not size else None
