/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/explain_unwind.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Functions begin at round addresses. What is shorter is filling between two of them, or too little to be met. */
#define PIECE_MIN 64u

/* From _start on: the compiler's crtbegin.o comes right behind it, and has no tables. */
#define STARTUP 256u
#define STARTUP_FUNCTION 64u

struct range {
    uint64_t start, end;
};

struct ranges {
    struct range *at;
    size_t count, room;
};

static void add(struct ranges *ranges, uint64_t start, uint64_t length) {
    if (ranges->count == ranges->room) {
        size_t room = ranges->room ? 2 * ranges->room : 1024;
        struct range *more = realloc(ranges->at, room * sizeof *more);
        if (!more)
            return;
        ranges->at = more;
        ranges->room = room;
    }
    ranges->at[ranges->count++] = (struct range){start, start + length};
}

static int by_start(const void *a, const void *b) {
    const struct range *one = a, *other = b;
    return (one->start > other->start) - (one->start < other->start);
}

/* ---- The entries of .eh_frame ---- */

struct frames {
    const char *ident;
    Elf_Data *data;
    uint64_t address;
    uint64_t cie_offset; /* of the CIE that was read last */
    int encoding;        /* of addresses in its FDEs; -1: not one that this reads */
};

static size_t width_of(int encoding) {
    switch (encoding & 0x0f) {
    case DW_EH_PE_absptr:
    case DW_EH_PE_udata8:
    case DW_EH_PE_sdata8:
        return 8;
    case DW_EH_PE_udata4:
    case DW_EH_PE_sdata4:
        return 4;
    case DW_EH_PE_udata2:
    case DW_EH_PE_sdata2:
        return 2;
    default:
        return 0;
    }
}

static int find_encoding(const Dwarf_CIE *cie) {
    const uint8_t *at = cie->augmentation_data, *end = at + cie->augmentation_data_size;
    const char *letter = cie->augmentation;
    if (*letter++ != 'z')
        return DW_EH_PE_absptr;
    for (; *letter && at < end; letter++) {
        if (*letter == 'R')
            return *at;
        if (*letter == 'L')
            at++;
        else if (*letter == 'P')
            at += 1 + width_of(*at);
    }
    return DW_EH_PE_absptr;
}

static int encoding_of(struct frames *frames, uint64_t cie_offset) {
    Dwarf_CFI_Entry entry;
    Dwarf_Off next;
    if (cie_offset != frames->cie_offset) {
        bool good =
            dwarf_next_cfi((const unsigned char *)frames->ident, frames->data, true, cie_offset, &next, &entry) == 0 &&
            dwarf_cfi_cie_p(&entry);
        frames->cie_offset = cie_offset;
        frames->encoding = good ? find_encoding(&entry.cie) : -1;
    }
    return frames->encoding;
}

static int64_t read_value(const uint8_t *at, int encoding) {
    uint64_t value = 0;
    size_t width = width_of(encoding);
    memcpy(&value, at, width);
    /* The file is of x86-64: its order of bytes is ours. */
    unsigned unused = 64 - 8 * (unsigned)width;
    return encoding & DW_EH_PE_signed ? (int64_t)(value << unused) >> unused : (int64_t)value;
}

static void add_function(struct frames *frames, const Dwarf_FDE *fde, struct ranges *ranges) {
    int encoding = encoding_of(frames, fde->CIE_pointer);
    size_t width = encoding < 0 ? 0 : width_of(encoding);
    int base = encoding & 0x70;
    if (width == 0 || (size_t)(fde->end - fde->start) < 2 * width || (base != 0 && base != DW_EH_PE_pcrel))
        return;
    uint64_t start = (uint64_t)read_value(fde->start, encoding);
    if (base == DW_EH_PE_pcrel)
        start += frames->address + (uint64_t)(fde->start - (const uint8_t *)frames->data->d_buf);
    /* The length is a number of that width, relative to nothing. */
    add(ranges, start, (uint64_t)read_value(fde->start + width, encoding & ~DW_EH_PE_signed));
}

static void read_frames(struct frames *frames, struct ranges *ranges) {
    Dwarf_Off offset = 0, next;
    for (;; offset = next) {
        Dwarf_CFI_Entry entry;
        int rc = dwarf_next_cfi((const unsigned char *)frames->ident, frames->data, true, offset, &next, &entry);
        if (rc == 0 && !dwarf_cfi_cie_p(&entry))
            add_function(frames, &entry.fde, ranges);
        if (rc > 0 || next == (Dwarf_Off)-1 || next <= offset)
            return;
    }
}

/* ---- The code ---- */

struct coverage {
    uint64_t entry; /* _start */
    uint64_t with, without;
};

static bool is_startup(const struct coverage *coverage, uint64_t address) {
    return address >= coverage->entry && address - coverage->entry < STARTUP;
}

static void add_gap(struct coverage *coverage, uint64_t start, uint64_t end) {
    if (start < end && is_startup(coverage, start))
        start = coverage->entry + STARTUP;
    if (start < end && end - start >= PIECE_MIN)
        coverage->without += end - start;
}

static void add_section(struct coverage *coverage, const GElf_Shdr *section, const struct ranges *ranges) {
    uint64_t at = section->sh_addr, end = at + section->sh_size;
    for (size_t i = 0; i < ranges->count && ranges->at[i].start < end; i++) {
        const struct range *function = &ranges->at[i];
        if (function->start < section->sh_addr)
            continue;
        uint64_t until = function->end < end ? function->end : end;
        if (function->start > at)
            add_gap(coverage, at, function->start);
        if (until > at &&
            !(is_startup(coverage, function->start) && function->start - coverage->entry < STARTUP_FUNCTION &&
              until - function->start < STARTUP_FUNCTION))
            coverage->with += until - (function->start > at ? function->start : at);
        at = until > at ? until : at;
    }
    add_gap(coverage, at, end);
}

unsigned explain_unwind_percent(Elf *elf) {
    GElf_Ehdr header;
    struct frames frames = {.ident = elf_getident(elf, NULL), .cie_offset = UINT64_MAX};
    struct ranges ranges = {0};
    GElf_Shdr section;
    size_t names;
    if (!gelf_getehdr(elf, &header) || elf_getshdrstrndx(elf, &names) != 0)
        return 0;
    for (Elf_Scn *scn = NULL; (scn = elf_nextscn(elf, scn));) {
        const char *name = gelf_getshdr(scn, &section) ? elf_strptr(elf, names, section.sh_name) : NULL;
        if (!name || strcmp(name, ".eh_frame") != 0 || section.sh_type == SHT_NOBITS)
            continue;
        frames.data = elf_getdata(scn, NULL);
        frames.address = section.sh_addr;
        if (frames.data && frames.data->d_buf)
            read_frames(&frames, &ranges);
    }
    if (ranges.count > 0)
        qsort(ranges.at, ranges.count, sizeof *ranges.at, by_start);
    struct coverage coverage = {.entry = header.e_entry};
    for (Elf_Scn *scn = NULL; (scn = elf_nextscn(elf, scn));) {
        const char *name = gelf_getshdr(scn, &section) ? elf_strptr(elf, names, section.sh_name) : NULL;
        if (name && section.sh_type == SHT_PROGBITS && (section.sh_flags & SHF_EXECINSTR) &&
            strncmp(name, ".plt", 4) != 0 && strcmp(name, ".init") != 0 && strcmp(name, ".fini") != 0)
            add_section(&coverage, &section, &ranges);
    }
    free(ranges.at);
    if (coverage.with == 0 || coverage.without == 0)
        return coverage.with == 0 ? 0 : 100;
    unsigned percent = (unsigned)(100.0 * (double)coverage.with / (double)(coverage.with + coverage.without));
    return percent == 0 ? 1 : percent;
}
