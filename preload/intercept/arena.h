/* SPDX-License-Identifier: Apache-2.0 */
/* The start-up arena: memory for allocations made before the next allocator is known, most of them by the lookup itself.
 * Blocks are zeroed and never reused. The shadow map's filter is set for their pages, so that frees of them end up where they
 * are recognised without costing other frees anything. */
#ifndef CPROF_INTERCEPT_ARENA_H
#define CPROF_INTERCEPT_ARENA_H

#include <stddef.h>
#include <stdint.h>

#include "preload/record/atomic.h"

/* NULL with errno ENOMEM if `align` is no power of two, or there is no more. */
void *arena_alloc(size_t n, size_t align);

/* Size of a block of the arena. */
size_t arena_size(const void *p);

/* Address space for what does not fit into the first part; only reserved when it is needed. */
#define ARENA_FIRST (64ul << 10)
#define ARENA_MORE (256ul << 20)
extern char arena_first[ARENA_FIRST] HIDDEN;
extern char *arena_more HIDDEN;
extern uint64_t arena_used HIDDEN; /* bytes handed out of both parts, mostly none; blocks don't lie across the two */

static inline int arena_owns(const void *p) {
    return unlikely(arena_used) && ((uintptr_t)p - (uintptr_t)arena_first < ARENA_FIRST ||
                                    (arena_more && (uintptr_t)p - (uintptr_t)arena_more < ARENA_MORE));
}

#endif
