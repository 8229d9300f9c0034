/* SPDX-License-Identifier: Apache-2.0 */
/* Why not dwfl_module_addrinfo(): it goes through the whole table for each address. */
#include "tools/symbolize_symtab.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static bool in_code(Elf *elf, GElf_Word section) {
    GElf_Shdr header;
    Elf_Scn *scn = section < SHN_LORESERVE && elf ? elf_getscn(elf, section) : NULL;
    return scn && gelf_getshdr(scn, &header) && (header.sh_flags & SHF_EXECINSTR);
}

/* 255: no function. Sized before sizeless, functions before labels, global before weak before local. */
static uint8_t rank(const GElf_Sym *sym, GElf_Word section, Elf *elf) {
    unsigned type = GELF_ST_TYPE(sym->st_info);
    unsigned bind = GELF_ST_BIND(sym->st_info);
    bool function = type == STT_FUNC || type == STT_GNU_IFUNC;
    if (section == SHN_UNDEF || (!function && type != STT_NOTYPE) || (!function && !in_code(elf, section)))
        return 255;
    unsigned binding = bind == STB_GLOBAL || bind == STB_GNU_UNIQUE ? 0 : bind == STB_WEAK ? 1 : 2;
    return (uint8_t)((sym->st_size == 0) * 8 + !function * 4 + binding);
}

static int compare(const void *left, const void *right) {
    const struct symbol *a = left, *b = right;
    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    if (a->rank != b->rank)
        return a->rank < b->rank ? -1 : 1;
    if (a->name_len != b->name_len)
        return a->name_len < b->name_len ? -1 : 1;
    return memcmp(a->name, b->name, a->name_len);
}

static void settle(struct symtab *table) {
    size_t kept = 0;
    uint64_t beyond = 0;
    if (table->count > 0)
        qsort(table->symbols, table->count, sizeof *table->symbols, compare);
    for (size_t i = 0; i < table->count; i++) {
        struct symbol *symbol = &table->symbols[i];
        if (kept > 0 && table->symbols[kept - 1].start == symbol->start)
            continue;
        if (symbol->start + symbol->size > beyond)
            beyond = symbol->start + symbol->size;
        symbol->beyond = beyond;
        table->symbols[kept++] = *symbol;
    }
    table->count = kept;
}

int symtab_read(struct symtab *table, Dwfl_Module *module) {
    *table = (struct symtab){0};
    int all = dwfl_module_getsymtab(module);
    if (all <= 0)
        return 0;
    table->symbols = malloc((size_t)all * sizeof *table->symbols);
    if (!table->symbols)
        return -ENOMEM;
    for (int i = 0; i < all; i++) {
        GElf_Sym sym;
        GElf_Addr address;
        GElf_Word section;
        Elf *elf;
        const char *name = dwfl_module_getsym_info(module, i, &sym, &address, &section, &elf, NULL);
        uint8_t ranked = name && *name ? rank(&sym, section, elf) : 255;
        if (ranked == 255)
            continue;
        table->symbols[table->count++] = (struct symbol){
            .start = address,
            .size = sym.st_size,
            .name = name,
            .name_len = (uint32_t)strcspn(name, "@"),
            .rank = ranked,
        };
    }
    settle(table);
    return 0;
}

const struct symbol *symtab_find(const struct symtab *table, uint64_t address) {
    size_t low = 0, high = table->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (table->symbols[middle].start <= address)
            low = middle + 1;
        else
            high = middle;
    }
    /* Symbols may lie in others, so that a farther one can be the one. */
    for (size_t i = low; i-- > 0 && table->symbols[i].beyond > address;)
        if (address - table->symbols[i].start < table->symbols[i].size)
            return &table->symbols[i];
    if (low > 0 && table->symbols[low - 1].size == 0)
        return &table->symbols[low - 1];
    /* In the padding before a function: what is to return to its first byte was not called from before it. */
    return low < table->count && table->symbols[low].start == address + 1 ? &table->symbols[low] : NULL;
}

void symtab_release(struct symtab *table) {
    free(table->symbols);
    *table = (struct symtab){0};
}
