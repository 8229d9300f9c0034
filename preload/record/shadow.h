/* SPDX-License-Identifier: Apache-2.0 */
/* The shadow map: for an address, the bucket of the recorded block that starts there.
 *
 * Two tables. The *filter* has one byte for each of the 64 Ki pages that share the low bits of their number, and is 0
 * where no recorded block is: the only thing that the free of an unrecorded block looks at. (At rate 1 it is all ones.)
 * Behind it stands the exact answer, a radix tree: directory by 2 GiB, table by page of 4 KiB, then 4 bytes for each
 * granule of the page, made when the first block of the page is recorded. A granule is the distance that two blocks
 * keep: 32 bytes under glibc (its smallest chunk), 8 under allocators that hand out blocks of 8 bytes.
 *
 * So a recorded block costs 4 bytes a granule of its page once, and a program that records everything an eighth of its
 * heap; at other rates next to nothing: 512 bytes a page that has a recorded block.
 *
 * Nobody locks. An entry belongs to whoever owns the block: it is written before the program gets the address, and taken
 * out before the allocator gets it back, so that plain loads and stores do. Only the tables' pages are raced for, and only
 * the filter's bytes are shared; they count by atomic adds and stick at 255. */
#ifndef CPROF_RECORD_SHADOW_H
#define CPROF_RECORD_SHADOW_H

#include <stddef.h>
#include <stdint.h>

#include "preload/record/atomic.h"

#define SHADOW_FILTER_BITS 16
extern uint8_t shadow_filter[1u << SHADOW_FILTER_BITS] HIDDEN;

static inline uint8_t *shadow_filter_at(uintptr_t address) {
    return &shadow_filter[(uint16_t)(address >> 12)];
}

/* `granule` is 8, 16 or 32. With `all`, every block is going to be recorded. Before any block is. */
void shadow_init(unsigned granule, int all);

/* Remembers that the block at `address` is of `bucket`. Returns the bucket that was remembered there until now, whose block
 * was given back without our seeing it, or 0; or -1 if there is no memory to remember it. */
int64_t shadow_put(uintptr_t address, uint32_t bucket);

/* The entry is going to be looked at: brings it near. */
void shadow_prefetch(uintptr_t address);

/* Forgets the block and returns its bucket; 0 if it wasn't recorded. */
uint32_t shadow_take(uintptr_t address);

/* Calls back with the bucket of every block that is remembered. */
void shadow_each(void (*fn)(uint32_t bucket));

#endif
