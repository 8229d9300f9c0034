/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/symbolize_eh.h"

#include <dwarf.h>
#include <string.h>

static int32_t start_of(const struct eh_table *table, size_t i) {
    int32_t value;
    memcpy(&value, table->pairs + 8 * i, sizeof value);
    return value;
}

bool eh_table_read(struct eh_table *table, Elf *elf) {
    size_t count;
    GElf_Phdr ph;
    if (elf_getphdrnum(elf, &count) != 0)
        return false;
    for (size_t i = 0; i < count; i++) {
        if (!gelf_getphdr(elf, (int)i, &ph) || ph.p_type != PT_GNU_EH_FRAME || ph.p_filesz < 12)
            continue;
        Elf_Data *data = elf_getdata_rawchunk(elf, (int64_t)ph.p_offset, ph.p_filesz, ELF_T_BYTE);
        if (!data || !data->d_buf || data->d_size < 12)
            return false;
        const unsigned char *at = data->d_buf;
        /* version, encoding of the pointer to .eh_frame (4 bytes in all of these), of the count, of the table */
        if (at[0] != 1 || (at[1] & 0x0f) != DW_EH_PE_sdata4 || at[2] != DW_EH_PE_udata4 ||
            at[3] != (DW_EH_PE_datarel | DW_EH_PE_sdata4))
            return false;
        uint32_t entries;
        memcpy(&entries, at + 8, sizeof entries);
        size_t room = (data->d_size - 12) / 8;
        *table = (struct eh_table){.pairs = at + 12, .count = entries < room ? entries : room, .base = ph.p_vaddr};
        return true;
    }
    return false;
}

bool eh_table_find(const struct eh_table *table, uint64_t address, uint64_t *start) {
    int64_t wanted = (int64_t)(address - table->base);
    size_t low = 0, high = table->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (start_of(table, middle) <= wanted)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0)
        return false;
    *start = table->base + (uint64_t)(int64_t)start_of(table, low - 1);
    return true;
}
