/* SPDX-License-Identifier: Apache-2.0 */
/* Which file an address belongs to: the loader's answer, and the segment's table of modules.
 *
 * Called when an address is met for the first time, from inside allocations: takes no lock of the loader's and makes no
 * system call where glibc has _dl_find_object (2.35 and later). */
#ifndef CPROF_RECORD_MODULES_H
#define CPROF_RECORD_MODULES_H

#include <stdint.h>

#include "preload/record/atomic.h"

/* One loaded object, as much of it as walking needs. */
struct object {
    uintptr_t start, limit;   /* all of its mapping */
    uintptr_t bias;           /* added to its ELF addresses */
    const uint8_t *eh_frame_hdr; /* NULL: no unwind tables that can be searched */
    const char *path;         /* as the loader knows it: "" for the main executable */
};

/* Finds out how to ask the loader, and enters the main executable as module 1. `phdr` is AT_PHDR; `name` that
 * executable's file. */
void modules_init(uintptr_t phdr, const char *name);

/* The object loaded at `address`; 0 if there is none. */
int modules_object_at(uintptr_t address, struct object *o);

/* Number of the module that `address` is executable code of, entered if it is new; 0 if it is in none. */
uint32_t modules_at(uintptr_t address, const struct object *o);

/* To be called after a dlclose: marks the modules that are gone; 1 if any of them was known here. */
int modules_drop_unloaded(void);

/* Also libc closes modules, without a dlclose: its own for character sets and name services. If what was known at `address` was
 * one of another object than `o`, which is loaded there now, it is marked as gone, and others that are; 1 then. */
int modules_drop_replaced(uintptr_t address, const struct object *o);

#endif
