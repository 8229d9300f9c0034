/* SPDX-License-Identifier: Apache-2.0 */
/* Function names from symbol tables: .symtab, .dynsym and what is packed in .gnu_debugdata, of the file itself or of
 * its debug file, wherever libdwfl finds one. */
#ifndef CPROF_TOOLS_SYMBOLIZE_SYMTAB_H
#define CPROF_TOOLS_SYMBOLIZE_SYMTAB_H

#include <elfutils/libdwfl.h>

#include <stddef.h>
#include <stdint.h>

struct symbol {
    uint64_t start;
    uint64_t size;   /* 0: as far as the next one goes */
    uint64_t beyond; /* the highest end of this and all symbols before it */
    const char *name;
    uint32_t name_len; /* without a version such as @@GLIBC_2.2.5 */
    uint8_t rank;      /* of several names for one address the one with the lowest is taken */
};

/* Sorted by address, one symbol for each. */
struct symtab {
    struct symbol *symbols;
    size_t count;
};

/* Reads them all. Returns 0, also if there are none, or -ENOMEM. The names belong to the module. */
int symtab_read(struct symtab *table, Dwfl_Module *module);

/* The symbol that an address (as in the ELF file) lies in, or NULL. */
const struct symbol *symtab_find(const struct symtab *table, uint64_t address);

void symtab_release(struct symtab *table);

#endif
