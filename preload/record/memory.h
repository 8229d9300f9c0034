/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of the library's own, straight from the kernel. Nothing here comes from malloc, and little of it is ever given
 * back: what was published without a lock may still be looked at by somebody.
 *
 * Address space that may never be used is only reserved (PROT_NONE) and opened up when needed: a program may have locked
 * all its memory (mlockall), and would then get every page of a readable mapping at once. */
#ifndef CPROF_RECORD_MEMORY_H
#define CPROF_RECORD_MEMORY_H

#include <stddef.h>
#include <stdint.h>

#include "preload/record/atomic.h"

#define MEMORY_PAGE 4096ul
#define MEMORY_PAGE_MASK (MEMORY_PAGE - 1)

static inline size_t memory_pages(size_t bytes) {
    return (bytes + MEMORY_PAGE - 1) & ~(MEMORY_PAGE - 1);
}

/* CPROF_MAX_MEMORY in bytes; UINT64_MAX: no limit. Set once, at the start. */
extern uint64_t memory_limit HIDDEN;

/* Charges `bytes` to the library's account; 0 if that would pass the limit, and then nothing is charged. */
int memory_charge(size_t bytes);
void memory_discharge(size_t bytes);
uint64_t memory_own(void); /* bytes on the account */

/* From now on the account's sum is also kept there, where others see it; NULL: nowhere. */
void memory_show(uint64_t *at);

/* Zeroed, readable and writable; charged. NULL if there is none, or the limit is reached. Rounded up to pages. */
void *memory_map(size_t bytes);
void memory_unmap(void *at, size_t bytes);

/* The same, not charged: for sparse tables whose users charge the pages that they touch. */
void *memory_map_sparse(size_t bytes);
void memory_unmap_sparse(void *at, size_t bytes);

/* Zeroes to read; parts of it are made writable by memory_open(). Like a reservation this is not counted against the program's
 * RLIMIT_DATA, as untouched writable memory would be. */
void *memory_map_readable(size_t bytes);

/* Address space only. */
void *memory_reserve(size_t bytes);
/* Opens up part of a reservation (whole pages); charged. 0 or -errno. `anyway`: beyond the limit too, for what would make the
 * figures wrong if it were not kept. */
int memory_open_anyway(void *at, size_t bytes, int anyway);
static inline int memory_open(void *at, size_t bytes) {
    return memory_open_anyway(at, bytes, 0);
}

#endif
