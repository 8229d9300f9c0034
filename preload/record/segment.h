/* SPDX-License-Identifier: Apache-2.0 */
/* The writer's side of the segment (proto/segment.h): making it, and handing out its entries.
 *
 * Called by: everything in record/ that keeps something. Any thread, any signal handler; no locks.
 * The regions are reserved address space; memory is put under them piece by piece, before an entry is handed out,
 * so that an entry can always be written to. */
#ifndef CPROF_RECORD_SEGMENT_H
#define CPROF_RECORD_SEGMENT_H

#include "preload/record/atomic.h"
#include "proto/segment.h"

#include <stddef.h>

struct segment {
    struct segment_header *header; /* NULL: there is none, nothing can be recorded */
    struct segment_module *modules;
    char *strings;
    struct segment_pc *pcs;
    struct segment_node *nodes;
    struct segment_bucket *buckets;
    struct segment_count *counts;
    uint64_t *peak;
    struct segment_thread *threads;
    uint64_t committed[SEGMENT_REGIONS]; /* entries that have memory under them */
};
extern struct segment segment HIDDEN;

struct segment_identity {
    uint32_t uid, pid;
    uint64_t start_ticks; /* field 22 of /proc/PID/stat */
};

/* Makes an empty segment and its reserved entries, in at most `most` bytes of address space, or as few as it can be made of. 0, or
 * -errno and segment.header stays NULL. */
int segment_create(const struct segment_identity *who, uint64_t most);

/* Gives the segment back, file and all. Only while no other thread can be using it. */
void segment_discard(void);

/* In a forked child, which still has its parent's segment: gives it a copy at the same place, with all nodes, buckets, pcs,
 * modules and strings, and no counts. With `may_open` it is a file again; without, no other system calls are made than those
 * of allocators. 0, or -errno: the segment can't be used any more, and must not be written to. */
int segment_adopt(const struct segment_identity *who, int may_open);

/* The program is about to limit its address space: gives back what was reserved of it but for a little room to grow. Children
 * forked after this are not profiled. */
void segment_shrink(void);

/* Index of a new, zeroed entry (for strings: `n` bytes in a row); 0 if there is no room or no memory. */
uint32_t segment_take(enum segment_region region, uint32_t n);

/* Offset of a copy of `len` bytes and a terminating zero; 0 if there is no room, or nothing to store. */
uint32_t segment_store_string(const char *s, size_t len);

/* Makes sure that the shard has counters for the bucket; with `anyway` beyond CPROF_MAX_MEMORY too. */
int segment_open_counts(uint32_t shard, uint32_t bucket, int anyway);

/* Counters of a bucket in a shard; NULL if there is no memory for them. */
static inline struct segment_count *segment_count_at(uint32_t shard, uint32_t bucket) {
    if (unlikely(bucket >= load_acquire(&segment.header->shard_buckets[shard])) && !segment_open_counts(shard, bucket, 1))
        return NULL;
    return &segment.counts[(uint64_t)shard * segment.header->region[SEGMENT_BUCKETS].capacity + bucket];
}

/* Puts memory under the first `n` entries of a region. */
int segment_open_region(enum segment_region region, uint64_t n);

#endif
