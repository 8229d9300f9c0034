/* SPDX-License-Identifier: Apache-2.0 */
/* What the dynamic loader knows of an address: which object it belongs to, and that one's file.
 *
 * _dl_find_object (glibc 2.35 and later) answers without a lock and in a few dozen instructions. dladdr, which stands
 * in for it, looks at all symbols of the object besides: tens of thousands of instructions. */
#ifndef CPROF_RECORD_LOADER_H
#define CPROF_RECORD_LOADER_H

#include <link.h>
#include <stdint.h>

#include "preload/record/atomic.h"

/* As in <dlfcn.h> of glibc 2.35, which an older one's headers lack. */
struct loader_object {
    unsigned long long flags;
    void *map_start, *map_end;
    struct link_map *link_map;
    void *eh_frame;
    unsigned long long reserved[7];
};

/* 0: found. NULL where the loader has no such function, and until loader_init(). */
extern int (*loader_find)(void *address, struct loader_object *object) HIDDEN;

/* May be called again. */
void loader_init(void);

/* Both addresses are in the same loaded object. */
int loader_same_object(const void *a, const void *b);

/* Where the object at `address` lies; all there is if that can't be told. */
void loader_range(const void *address, uintptr_t *low, uintptr_t *size);

/* The file of the object at `address`, as the loader calls it; "" if unknown. */
const char *loader_file(const void *address);

#endif
