/* SPDX-License-Identifier: Apache-2.0 */
/* libunwind's generic (not its local-only) interface: the names without the _UL prefix, in libunwind-x86_64. */
#include "preload/backend/unwind.h"

#include <dlfcn.h>
#include <libunwind-x86_64.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>

/* Exported by libunwind-x86_64 for tools such as perf; declared in none of its headers. */
extern int _Ux86_64_dwarf_search_unwind_table(unw_addr_space_t as, unw_word_t ip, unw_dyn_info_t *di, unw_proc_info_t *pi,
                                              int need_unwind_info, void *arg);

struct memory {
    struct registers *r;
    int (*readable)(void *ctx, uintptr_t at);
    void *ctx;
    uintptr_t tables, tables_end; /* the object's unwind tables, which libunwind may read besides */
};

static int find_proc_info(unw_addr_space_t as, unw_word_t ip, unw_proc_info_t *pi, int need, void *arg) {
    struct memory *m = arg;
    struct dl_find_object o, tables;
    /* An object with gaps between its segments is found one segment at a time: the tables are in another one. */
    if (_dl_find_object((void *)ip, &o) != 0 || !o.dlfo_eh_frame || _dl_find_object(o.dlfo_eh_frame, &tables) != 0)
        return -UNW_ENOINFO;
    const unsigned char *hdr = o.dlfo_eh_frame;
    /* Version, then encodings: those that linkers write (cfi.c has the format). */
    if (hdr[0] != 1 || hdr[1] != 0x1b || hdr[2] != 0x03 || hdr[3] != 0x3b)
        return -UNW_ENOINFO;
    uint32_t count;
    memcpy(&count, hdr + 8, sizeof count);
    m->tables = (uintptr_t)tables.dlfo_map_start;
    m->tables_end = (uintptr_t)tables.dlfo_map_end;
    unw_dyn_info_t di = {.format = UNW_INFO_FORMAT_REMOTE_TABLE,
                         .start_ip = (unw_word_t)o.dlfo_map_start,
                         .end_ip = (unw_word_t)o.dlfo_map_end};
    di.u.rti.segbase = (unw_word_t)hdr;
    di.u.rti.table_data = (unw_word_t)hdr + 12;
    di.u.rti.table_len = count * 8ul / sizeof(unw_word_t);
    return _Ux86_64_dwarf_search_unwind_table(as, ip, &di, pi, need, arg);
}

/* Would give the CIE back to libunwind's pool, which can't be reached from outside: see MAX_STEPS. */
static void put_unwind_info(unw_addr_space_t as, unw_proc_info_t *pi, void *arg) {
    (void)as;
    (void)pi;
    (void)arg;
}

static int get_dyn_info_list(unw_addr_space_t as, unw_word_t *list, void *arg) {
    (void)as;
    (void)list;
    (void)arg;
    return -UNW_ENOINFO;
}

static int access_mem(unw_addr_space_t as, unw_word_t at, unw_word_t *value, int write, void *arg) {
    struct memory *m = arg;
    (void)as;
    /* The tables are read word by word, wherever an entry starts. */
    int table = at >= m->tables && at < m->tables_end && m->tables_end - at >= sizeof *value;
    if (write || !(table || m->readable(m->ctx, at)))
        return -UNW_EINVAL;
    memcpy(value, (const void *)at, sizeof *value);
    return 0;
}

static int access_reg(unw_addr_space_t as, unw_regnum_t reg, unw_word_t *value, int write, void *arg) {
    const struct registers *r = ((struct memory *)arg)->r;
    (void)as;
    if (write)
        return -UNW_EREADONLYREG;
    *value = reg == UNW_X86_64_RIP ? r->ip + 1 : reg == UNW_X86_64_RSP ? r->sp : reg == UNW_X86_64_RBP ? r->bp : 0;
    return 0;
}

static int access_fpreg(unw_addr_space_t as, unw_regnum_t reg, unw_fpreg_t *value, int write, void *arg) {
    (void)as;
    (void)reg;
    (void)value;
    (void)write;
    (void)arg;
    return -UNW_EBADREG;
}

static int resume(unw_addr_space_t as, unw_cursor_t *c, void *arg) {
    (void)as;
    (void)c;
    (void)arg;
    return -UNW_EINVAL;
}

static int get_proc_name(unw_addr_space_t as, unw_word_t ip, char *buf, size_t len, unw_word_t *offset, void *arg) {
    (void)as;
    (void)ip;
    (void)buf;
    (void)len;
    (void)offset;
    (void)arg;
    return -UNW_ENOINFO;
}

static unw_accessors_t accessors = {.find_proc_info = find_proc_info,
                                    .put_unwind_info = put_unwind_info,
                                    .get_dyn_info_list_addr = get_dyn_info_list,
                                    .access_mem = access_mem,
                                    .access_reg = access_reg,
                                    .access_fpreg = access_fpreg,
                                    .resume = resume,
                                    .get_proc_name = get_proc_name};

/* libunwind guards its pools by a mutex, with all signals blocked meanwhile: two system calls that a filter may kill for. Only
 * one thread at a time gets here (walk.c), so neither is needed; and as this library stands first in the search order that
 * libunwind was loaded with, these are what it calls. */
#define SHIM __attribute__((visibility("default")))
SHIM int sigprocmask(int how, const sigset_t *set, sigset_t *old) {
    (void)how;
    (void)set;
    (void)old;
    return 0;
}
SHIM int pthread_mutex_lock(pthread_mutex_t *m) {
    (void)m;
    return 0;
}
SHIM int pthread_mutex_unlock(pthread_mutex_t *m) {
    (void)m;
    return 0;
}
/* Opened when libunwind starts, to check addresses with; ours are checked otherwise. */
SHIM int pipe2(int fd[2], int flags) {
    (void)fd;
    (void)flags;
    return -1;
}

static unw_addr_space_t space;

/* When the library is loaded: making the address space allocates. */
__attribute__((constructor)) static void make_space(void) {
    space = unw_create_addr_space(&accessors, 0);
    if (space)
        unw_set_caching_policy(space, UNW_CACHE_NONE);
}

/* Each step leaves some 64 bytes in a pool of libunwind's. Frames of this kind are rare; a program that has nothing else on its
 * stacks gets them cut in the end rather than its memory filled. */
#define MAX_STEPS (1u << 20)
static unsigned steps;

int unwind_step(struct registers *r, int (*readable)(void *, uintptr_t), void *ctx) {
    struct memory m = {.r = r, .readable = readable, .ctx = ctx};
    unw_cursor_t cursor;
    unw_word_t ip, sp, bp;
    if (!space || steps++ >= MAX_STEPS || unw_init_remote(&cursor, space, &m) != 0)
        return 0;
    if (unw_step(&cursor) <= 0 || unw_get_reg(&cursor, UNW_X86_64_RIP, &ip) != 0 || unw_get_reg(&cursor, UNW_X86_64_RSP, &sp) != 0 ||
        unw_get_reg(&cursor, UNW_X86_64_RBP, &bp) != 0 || !ip)
        return 0;
    /* "Signal frame" is what libunwind calls the one that the signal interrupted. */
    *r = (struct registers){.ip = ip - (unw_is_signal_frame(&cursor) <= 0), .sp = sp, .bp = bp};
    return 1;
}
