/* SPDX-License-Identifier: Apache-2.0 */
/* The shadow map: for an address, the bucket of the recorded block that starts there.
 *
 * Two tables. The *filter* has one byte for each of the 64 Ki pages that share the low bits of their number, and is 0
 * where no recorded block is: the only thing that the free of an unrecorded block looks at. (At rate 1 it is all ones.)
 * Behind it stands the exact answer, a radix tree: directory by 2 GiB, table by page of 4 KiB, then 4 bytes for each
 * granule of the page, made when the first block of the page is recorded. A granule is the distance that two blocks
 * keep: 32 bytes under glibc (its smallest chunk). Other allocators hand out blocks of 8 bytes, but most of theirs start
 * at multiples of 16 too: there a granule is 16 bytes, and blocks that start in the middle of one have pages of their own,
 * at SHADOW_ODD further up.
 *
 * So a recorded block costs 4 bytes a granule of its page once, and a program that records everything an eighth of its
 * heap (a quarter under other allocators); at other rates next to nothing: 512 bytes a page that has a recorded block.
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

extern int shadow_all HIDDEN; /* every block is recorded: the filter says nothing */

/* `granule` is the least distance of two blocks, 8, 16 or 32. With `all`, every block is going to be recorded. Before any block is. */
void shadow_init(unsigned granule, int all);

/* One table for each 2 GiB of address space that a recorded block was in; the directory points to them. */
#define SHADOW_DIRECTORY_SHIFT 31
#define SHADOW_PAGE_SHIFT 12
#define SHADOW_ADDRESS_BITS 47
#define SHADOW_ODD (1ul << SHADOW_ADDRESS_BITS)
#define SHADOW_TABLE_ENTRIES (1u << (SHADOW_DIRECTORY_SHIFT - SHADOW_PAGE_SHIFT))
#define SHADOW_PIECE (64ul << 10)
struct shadow_table {
    uint32_t *page[SHADOW_TABLE_ENTRIES]; /* the page's granules */
    uint8_t open[SHADOW_TABLE_ENTRIES * sizeof(uint32_t *) / SHADOW_PIECE]; /* which pieces of `page` can be written to */
};
extern struct shadow_table *shadow_directory[2u << (SHADOW_ADDRESS_BITS - SHADOW_DIRECTORY_SHIFT)] HIDDEN;
extern unsigned shadow_granule_shift HIDDEN;
extern uintptr_t shadow_middle HIDDEN; /* the bit of an address that tells the middle of a granule; 0: none start there */

/* Where the map has the address, which is below 1 << SHADOW_ADDRESS_BITS. */
static inline uintptr_t shadow_place(uintptr_t address) {
    return unlikely(address & shadow_middle) ? address + SHADOW_ODD : address;
}

/* Where the bucket of a block at `address` is kept; NULL if no block of its page was ever recorded. Looking early and using it
 * late lets other work go on during the cache miss. */
static inline uint32_t *shadow_entry(uintptr_t address) {
    if (unlikely(address >> SHADOW_ADDRESS_BITS))
        return NULL;
    uintptr_t place = shadow_place(address);
    struct shadow_table *t = load_acquire(&shadow_directory[place >> SHADOW_DIRECTORY_SHIFT]);
    if (unlikely(!t))
        return NULL;
    uint32_t *page = load_acquire(&t->page[address >> SHADOW_PAGE_SHIFT & (SHADOW_TABLE_ENTRIES - 1)]);
    if (unlikely(!page))
        return NULL;
    uint32_t *entry = &page[(address & 4095) >> shadow_granule_shift];
    __builtin_prefetch(entry, 1);
    return entry;
}

/* Remembers that the block at `address` is of `bucket`, in the entry that shadow_entry() gave. Returns the bucket that was
 * remembered there until now, whose block was given back without our seeing it, or 0; or -1 if there is no memory to remember
 * it. */
int64_t shadow_put_slowly(uint32_t *entry, uintptr_t address, uint32_t bucket);
static inline int64_t shadow_put_at(uint32_t *entry, uintptr_t address, uint32_t bucket) {
    if (unlikely(!entry) || unlikely(!shadow_all))
        return shadow_put_slowly(entry, address, bucket);
    uint32_t before = load_relaxed(entry);
    store_relaxed(entry, bucket);
    return before;
}

static inline int64_t shadow_put(uintptr_t address, uint32_t bucket) {
    return shadow_put_at(shadow_entry(address), address, bucket);
}

/* Forgets the block and returns its bucket; 0 if it wasn't recorded. */
void shadow_taken(uintptr_t address);
static inline uint32_t shadow_take(uintptr_t address) {
    uint32_t *entry = shadow_entry(address);
    uint32_t bucket = entry ? load_relaxed(entry) : 0;
    if (likely(bucket)) {
        store_relaxed(entry, 0u);
        if (unlikely(!shadow_all))
            shadow_taken(address);
    }
    return bucket;
}

/* Forgets every block and gives the memory back. Only while no other thread can be using it. */
void shadow_discard(void);

/* Calls back with the bucket of every block that is remembered. */
void shadow_each(void (*fn)(uint32_t bucket));

#endif
