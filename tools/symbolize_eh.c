/* SPDX-License-Identifier: Apache-2.0 */
/* How: where a function ends is in its description (FDE), behind the address of its start, which is encoded as its CIE
 * says. Linkers write these addresses relative to themselves, in four bytes; of others the end is not known. */
#include "tools/symbolize_eh.h"

#include <dwarf.h>
#include <string.h>

static int32_t pair_of(const struct eh_table *table, size_t i, size_t which) {
    int32_t value;
    memcpy(&value, table->pairs + 8 * i + 4 * which, sizeof value);
    return value;
}

static int64_t start_of(const struct eh_table *table, size_t i) {
    return pair_of(table, i, 0);
}

/* ---- Where a function ends ---- */

/* Bytes of the file at an ELF address, as many as there are in the segment; NULL: none. */
static const unsigned char *bytes_at(const struct eh_table *table, uint64_t address, size_t *len) {
    size_t count, size;
    GElf_Phdr ph;
    const char *file = elf_rawfile(table->elf, &size);
    if (!file || elf_getphdrnum(table->elf, &count) != 0)
        return NULL;
    for (size_t i = 0; i < count; i++) {
        if (!gelf_getphdr(table->elf, (int)i, &ph) || ph.p_type != PT_LOAD || address < ph.p_vaddr ||
            address - ph.p_vaddr >= ph.p_filesz || ph.p_offset > size || ph.p_filesz > size - ph.p_offset)
            continue;
        *len = ph.p_filesz - (address - ph.p_vaddr);
        return (const unsigned char *)file + ph.p_offset + (address - ph.p_vaddr);
    }
    return NULL;
}

static bool skip_leb128(const unsigned char **at, const unsigned char *end) {
    while (*at < end && **at >= 128)
        ++*at;
    return (*at)++ < end;
}

/* Whether a CIE says that addresses are relative and of four bytes. */
static bool has_usual_addresses(const unsigned char *at, size_t len) {
    const unsigned char *end = at + (len < 64 ? len : 64); /* its head is shorter */
    static const char augmentation[] = "zR";
    if (len < 20 || (at[8] != 1 && at[8] != 3))
        return false;
    bool returns_in_byte = at[8] == 1;
    at += 9;
    /* What comes before R in it takes room before what R says; compilers put P and L, of C++, there. */
    const unsigned char *letters = at;
    at = memchr(at, 0, (size_t)(end - at));
    if (!at || letters[0] != augmentation[0])
        return false;
    at++;
    if (!skip_leb128(&at, end) || !skip_leb128(&at, end))
        return false;
    if (returns_in_byte)
        at++;
    else if (!skip_leb128(&at, end))
        return false;
    if (!skip_leb128(&at, end))
        return false;
    for (letters++; at < end; letters++) {
        if (*letters == augmentation[1])
            return *at == (DW_EH_PE_pcrel | DW_EH_PE_sdata4);
        if (*letters == 'L')
            at++;
        else if (*letters == 'P' && ((*at & 7) == DW_EH_PE_udata4 || (*at & 7) == DW_EH_PE_absptr))
            at += (*at & 7) == DW_EH_PE_udata4 ? 5 : 9;
        else if (*letters != 'S' && *letters != 'B')
            return false;
    }
    return false;
}

/* ELF address behind the function of a pair; UINT64_MAX: not known. */
static uint64_t end_of(const struct eh_table *table, size_t i) {
    uint64_t fde = table->base + (uint64_t)(int64_t)pair_of(table, i, 1);
    uint32_t to_cie, range;
    size_t len, cie_len;
    const unsigned char *at = bytes_at(table, fde, &len);
    if (!at || len < 16)
        return UINT64_MAX;
    memcpy(&to_cie, at + 4, sizeof to_cie);
    memcpy(&range, at + 12, sizeof range);
    const unsigned char *cie = bytes_at(table, fde + 4 - to_cie, &cie_len);
    if (!cie || !has_usual_addresses(cie, cie_len))
        return UINT64_MAX;
    return table->base + (uint64_t)start_of(table, i) + range;
}

/* ---- The table ---- */

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
        *table = (struct eh_table){
            .pairs = at + 12, .count = entries < room ? entries : room, .base = ph.p_vaddr, .elf = elf};
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
    uint64_t end = end_of(table, low - 1);
    if (address < end)
        *start = table->base + (uint64_t)start_of(table, low - 1);
    else if (low < table->count && start_of(table, low) == wanted + 1)
        *start = address + 1;
    else
        *start = end;
    return true;
}
