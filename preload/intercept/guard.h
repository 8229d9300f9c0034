/* SPDX-License-Identifier: Apache-2.0 */
/* Allocators that call themselves by their exported names.
 *
 * Such a call (a malloc that is made of the same library's memalign) comes to our hook, inside of the one that the program
 * made, and would count twice. glibc does nothing of the kind. For other allocators the table of next functions (next.h) is given
 * wrappers that know when they are inside each other; the fast paths stay as they are: an inner call takes back in advance
 * what its hook is going to count. What a signal handler or a new-handler allocates meanwhile is the program's. */
#ifndef CPROF_INTERCEPT_GUARD_H
#define CPROF_INTERCEPT_GUARD_H

#include <stdint.h>

#include "preload/intercept/next.h"

/* Puts the wrappers into the table. */
void guard_install(struct next *table);

/* The same for an operator new that is the allocator's own. */
void *guard_new(next_new *fn, size_t size, size_t a, size_t b);

/* Where the allocator's object lies; of size 0 if there is no guard. */
extern uintptr_t guard_low HIDDEN, guard_size HIDDEN;
static inline int guard_owns(next_new *fn) {
    return (uintptr_t)fn - guard_low < guard_size;
}

/* An allocation's hook asks before it records: 1 if it was called by the allocator itself. */
int guard_ask(void);
static inline int guard_is_inner(void) {
    return unlikely(guard_size) && guard_ask();
}

#endif
