/* SPDX-License-Identifier: Apache-2.0 */
/* Where functions begin, by what unwinders read: the table of .eh_frame_hdr, which stripped files have as well. */
#ifndef CPROF_TOOLS_SYMBOLIZE_EH_H
#define CPROF_TOOLS_SYMBOLIZE_EH_H

#include <gelf.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct eh_table {
    const unsigned char *pairs; /* of 4 bytes each: where a function begins, where its description is */
    size_t count;
    uint64_t base; /* ELF address that both are relative to */
    Elf *elf;
};

/* Finds the table. False if there is none that this understands: sorted, of 32-bit offsets, as all linkers write. It
 * lives as long as `elf`. */
bool eh_table_read(struct eh_table *table, Elf *elf);

/* ELF address where the function at `address` begins. What is not in any, as assembler without unwind tables is, begins
 * where the one before ends: all up to the next is one. The byte before a function stands for its first: an address to
 * return to there was made up, as a coroutine's root is, and not by a call, which would be in what is before. False if
 * there is nothing before. */
bool eh_table_find(const struct eh_table *table, uint64_t address, uint64_t *start);

#endif
