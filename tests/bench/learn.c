/* SPDX-License-Identifier: Apache-2.0 */
/* What it costs to learn how to walk from an address that was not met before: `learn own|libunwind|nothing N`.
 *
 * own: cfi_rule(), which the library uses. libunwind: one unw_step() in an address space of our own with our own
 * accessors and caching off, as the library uses it for rare frames, except that its locks are left in. Addresses are
 * spread over the functions of libc and of this program's other libraries. `nothing` only picks them, so that system
 * calls (strace -c) can be counted by difference. Prints `ns` per address and `known`, the addresses that something was
 * found for. */
#include <dlfcn.h>
#include <libunwind-x86_64.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "preload/record/cfi.h"

extern int _Ux86_64_dwarf_search_unwind_table(unw_addr_space_t as, unw_word_t ip, unw_dyn_info_t *di,
                                              unw_proc_info_t *pi, int need_unwind_info, void *arg);

/* One entry of .eh_frame_hdr's table, both relative to its start. */
struct entry {
    int32_t function, fde;
};
struct place {
    uintptr_t address;
    const uint8_t *hdr;
    uintptr_t start, limit;
};

static struct place *places;
static size_t count, room;

static void add(uintptr_t address, const uint8_t *hdr, uintptr_t start, uintptr_t limit) {
    if (count == room) {
        room = room ? 2 * room : 4096;
        if (!(places = realloc(places, room * sizeof *places)))
            exit(1);
    }
    places[count++] = (struct place){address, hdr, start, limit};
}

/* The middle of every function of the object. */
static int collect(struct dl_phdr_info *info, size_t size, void *unused) {
    const uint8_t *hdr = NULL;
    uintptr_t start = UINTPTR_MAX, limit = 0;
    (void)size;
    (void)unused;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        uintptr_t at = info->dlpi_addr + p->p_vaddr;
        if (p->p_type == PT_GNU_EH_FRAME)
            hdr = (const uint8_t *)at;
        if (p->p_type == PT_LOAD) {
            start = at < start ? at : start;
            limit = at + p->p_memsz > limit ? at + p->p_memsz : limit;
        }
    }
    /* Version and the encodings that linkers write. */
    if (!hdr || memcmp(hdr, "\x01\x1b\x03\x3b", 4) != 0)
        return 0;
    uint32_t n;
    memcpy(&n, hdr + 8, sizeof n);
    const struct entry *e = (const struct entry *)(hdr + 12);
    for (uint32_t i = 0; i + 1 < n; i++)
        add((uintptr_t)hdr + (uintptr_t)(((intptr_t)e[i].function + e[i + 1].function) / 2), hdr, start, limit);
    return 0;
}

/* A stack that says nothing: every word is an address in this program. */
static uint64_t stack[1 << 14];

struct memory {
    const struct place *place;
};

static int find_proc_info(unw_addr_space_t as, unw_word_t ip, unw_proc_info_t *pi, int need, void *arg) {
    const struct memory *m = arg;
    uint32_t n;
    memcpy(&n, m->place->hdr + 8, sizeof n);
    unw_dyn_info_t di = {
        .format = UNW_INFO_FORMAT_REMOTE_TABLE, .start_ip = m->place->start, .end_ip = m->place->limit};
    di.u.rti.segbase = (unw_word_t)m->place->hdr;
    di.u.rti.table_data = (unw_word_t)m->place->hdr + 12;
    di.u.rti.table_len = n * 8ul / sizeof(unw_word_t);
    return _Ux86_64_dwarf_search_unwind_table(as, ip, &di, pi, need, arg);
}
static void put_unwind_info(unw_addr_space_t as, unw_proc_info_t *pi, void *arg) {
    (void)as, (void)pi, (void)arg;
}
static int get_dyn_info_list(unw_addr_space_t as, unw_word_t *list, void *arg) {
    (void)as, (void)list, (void)arg;
    return -UNW_ENOINFO;
}
static int access_mem(unw_addr_space_t as, unw_word_t at, unw_word_t *value, int write, void *arg) {
    const struct memory *m = arg;
    (void)as;
    int table = at >= m->place->start && at + 8 <= m->place->limit;
    int ours = at >= (uintptr_t)stack && at + 8 <= (uintptr_t)stack + sizeof stack;
    if (write || !(table || ours))
        return -UNW_EINVAL;
    memcpy(value, (const void *)at, sizeof *value);
    return 0;
}
static int access_reg(unw_addr_space_t as, unw_regnum_t reg, unw_word_t *value, int write, void *arg) {
    const struct memory *m = arg;
    (void)as;
    if (write)
        return -UNW_EREADONLYREG;
    *value = reg == UNW_X86_64_RIP   ? m->place->address
             : reg == UNW_X86_64_RSP ? (unw_word_t)stack
             : reg == UNW_X86_64_RBP ? (unw_word_t)(stack + 4096)
                                     : 0;
    return 0;
}
static int access_fpreg(unw_addr_space_t as, unw_regnum_t reg, unw_fpreg_t *value, int write, void *arg) {
    (void)as, (void)reg, (void)value, (void)write, (void)arg;
    return -UNW_EBADREG;
}
static int resume(unw_addr_space_t as, unw_cursor_t *c, void *arg) {
    (void)as, (void)c, (void)arg;
    return -UNW_EINVAL;
}
static int get_proc_name(unw_addr_space_t as, unw_word_t ip, char *buf, size_t len, unw_word_t *offset, void *arg) {
    (void)as, (void)ip, (void)buf, (void)len, (void)offset, (void)arg;
    return -UNW_ENOINFO;
}

static int by_libunwind(unw_addr_space_t space, const struct place *place) {
    struct memory m = {place};
    unw_cursor_t cursor;
    return unw_init_remote(&cursor, space, &m) == 0 && unw_step(&cursor) > 0;
}
static int by_own(const struct place *place) {
    enum rule_kind kind = cfi_rule(place->address, place->hdr, place->start, place->limit).kind;
    return kind != RULE_NONE && kind != RULE_RARE;
}

int main(int argc, char **argv) {
    static unw_accessors_t accessors = {.find_proc_info = find_proc_info,
                                        .put_unwind_info = put_unwind_info,
                                        .get_dyn_info_list_addr = get_dyn_info_list,
                                        .access_mem = access_mem,
                                        .access_reg = access_reg,
                                        .access_fpreg = access_fpreg,
                                        .resume = resume,
                                        .get_proc_name = get_proc_name};
    if (argc != 3) {
        fputs("usage: learn own|libunwind|nothing N\n", stderr);
        return 2;
    }
    int own = strcmp(argv[1], "own") == 0, libunwind = strcmp(argv[1], "libunwind") == 0;
    long n = strtol(argv[2], NULL, 10), known = 0;
    dl_iterate_phdr(collect, NULL);
    for (size_t i = 0; i < sizeof stack / sizeof *stack; i++)
        stack[i] = (uintptr_t)main;
    unw_addr_space_t space = unw_create_addr_space(&accessors, 0);
    if (!count || !space)
        return 1;
    unw_set_caching_policy(space, UNW_CACHE_NONE);
    struct timespec a, b;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &a);
    for (long i = 0; i < n; i++) {
        /* 7919 is prime: one function after another, near and far. */
        const struct place *p = &places[(size_t)i * 7919 % count];
        known += own ? by_own(p) : libunwind ? by_libunwind(space, p) : 1;
    }
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &b);
    double ns = (double)(b.tv_sec - a.tv_sec) * 1e9 + (double)(b.tv_nsec - a.tv_nsec);
    printf("addresses %zu\nns %.1f\nknown %ld\n", count, ns / (double)(n ? n : 1), known);
    return 0;
}
