/* SPDX-License-Identifier: Apache-2.0 */
/* Looking up an address in /proc/thread-self/maps (that of /proc/self reads empty once the main thread has ended).
 * Three or more system calls and a descriptor for as long as it takes: for rare cases. */
#ifndef CPROF_RECORD_MAPS_H
#define CPROF_RECORD_MAPS_H

#include <stddef.h>
#include <stdint.h>

struct maps_entry {
    uintptr_t start, limit;           /* the mapping the address is in */
    uintptr_t file_start, file_limit; /* from the first to the last mapping of the same file around it */
    int readable, executable;
    uint64_t offset;
};

/* Room to work in: too much for a small stack, so callers get it elsewhere. */
struct maps_buffer {
    char path[4096]; /* the answer */
    char run[4096];
    int fd;
    size_t at, len;
    char chunk[4096];
};

/* 1 and the entry if `address` is mapped. `buffer->path` receives the file's name as the kernel prints it, unescaped,
 * without a " (deleted)" at its end; empty if it is no file's. */
int maps_find(uintptr_t address, struct maps_entry *entry, struct maps_buffer *buffer);

#endif
