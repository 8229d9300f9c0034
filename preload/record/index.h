/* SPDX-License-Identifier: Apache-2.0 */
/* An insert-only hash index over entries that are kept elsewhere: from a hash to the numbers of the entries that have it.
 *
 * One 4-byte slot an entry, open addressing, at most half full. Lookups and insertions take no lock and may be interrupted
 * anywhere, also by a signal handler that does the same. When it fills up, one thread copies it into a table twice the size
 * while others go on with the old one; what they insert meanwhile may be missing from the new table. So the one promise is:
 *
 *     an entry that was inserted is usually found; if it is not, the caller makes a second one with the same key.
 *
 * All users are built so that such a twin is harmless (its counts add up with the first one's). */
#ifndef CPROF_RECORD_INDEX_H
#define CPROF_RECORD_INDEX_H

#include <stddef.h>
#include <stdint.h>

#include "preload/record/atomic.h"

struct index_table {
    uint64_t mask; /* slots - 1 */
    uint64_t used;
    uint32_t slot[]; /* entry number, 0: empty */
};

struct index {
    struct index_table *table;
    uint32_t growing;                      /* somebody is copying */
    uint64_t (*hash_of)(uint32_t entry);   /* for copying */
};

/* Slots looked at before giving up. */
#define INDEX_PROBES 64

/* Makes an index with an empty table of at least `slots` slots, before anybody uses it; 0 as index_clear. */
int index_init(struct index *ix, uint64_t (*hash_of)(uint32_t), size_t slots);

/* Puts an empty table of at least `slots` slots in the place of what there is, while others may be using it: what was
 * inserted before is not found any more. 0 if there is no memory (then nothing will be found). */
int index_clear(struct index *ix, size_t slots);

/* Gives the table back; nothing is found from now on. Only while no other thread can be using it. */
void index_discard(struct index *ix);

/* Remembers the entry. May silently not, see above. */
void index_insert(struct index *ix, uint64_t hash, uint32_t entry);

/* First entry with this hash for which `matches(entry, a, b)`; 0 if there is none. Inlined into each user. */
static inline __attribute__((always_inline)) uint32_t
index_find(const struct index *ix, uint64_t hash, int (*matches)(uint32_t, uint64_t, uint64_t), uint64_t a, uint64_t b) {
    const struct index_table *t = load_acquire(&ix->table);
    if (unlikely(!t))
        return 0;
    for (uint64_t i = hash & t->mask, n = 0; n < INDEX_PROBES; n++, i = (i + 1) & t->mask) {
        uint32_t entry = load_acquire(&t->slot[i]);
        if (!entry)
            return 0;
        if (likely(matches(entry, a, b)))
            return entry;
    }
    return 0;
}

/* Hash of two words; the low bits are good. Constants: the golden ratio and MurmurHash3's finalizer (public domain). */
static inline uint64_t index_hash(uint64_t a, uint64_t b) {
    uint64_t h = (a ^ (b << 32 | b >> 32)) * 0x9e3779b97f4a7c15ull;
    h ^= h >> 32;
    h *= 0xff51afd7ed558ccdull;
    return h ^ h >> 29;
}

#endif
