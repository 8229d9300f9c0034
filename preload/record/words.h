/* SPDX-License-Identifier: Apache-2.0 */
/* The words of memory that frames were found by, and what they held then: if they hold it still, the frames are the same.
 *
 * A frame is found by its return address and, where some frame further out needs it, by the rbp that was saved. In code
 * with frame pointers the two lie side by side and are looked at as a pair. All loads are independent of each other: looking
 * at an unchanged stack costs little more than these. */
#ifndef CPROF_RECORD_WORDS_H
#define CPROF_RECORD_WORDS_H

#include <stddef.h>
#include <stdint.h>

#include "preload/record/atomic.h"

struct words {
    const uintptr_t **one;
    uintptr_t *one_held;
    const uintptr_t **pair; /* of each the upper one; the other is right below */
    uintptr_t *pair_held;   /* two for each pair: what the upper one held, and the lower one */
};

struct words_count {
    uint16_t ones, pairs;
};

/* Bytes for as many words as `frames` frames can have. */
static inline size_t words_bytes(uint32_t frames) {
    return frames * (2 * 2 + 3) * sizeof(uintptr_t);
}
static inline struct words words_at(void *memory, uint32_t frames) {
    struct words w;
    w.one = memory;
    w.one_held = (uintptr_t *)(w.one + 2 * frames);
    w.pair = (const uintptr_t **)(w.one_held + 2 * frames);
    w.pair_held = (uintptr_t *)(w.pair + frames);
    return w;
}

/* The number of the first word, or pair, that holds something else; n: all hold what they held. (Pointers that move, since gcc
 * makes three instructions less of that for each than of an index.) */
static inline uint32_t words_ones_hold(const struct words *w, uint32_t n) {
    const uintptr_t **at = w->one, **end = at + (n & ~3u);
    const uintptr_t *held = w->one_held;
    for (; at != end; at += 4, held += 4)
        if (unlikely((*at[0] ^ held[0]) | (*at[1] ^ held[1]) | (*at[2] ^ held[2]) | (*at[3] ^ held[3])))
            break;
    for (end = w->one + n; at != end && **at == *held; held++)
        at++;
    return (uint32_t)(at - w->one);
}
static inline uint32_t words_pairs_hold(const struct words *w, uint32_t n) {
    const uintptr_t **at = w->pair, **end = at + (n & ~3u);
    const uintptr_t *held = w->pair_held;
    for (; at != end; at += 4, held += 8)
        if (unlikely((at[0][0] ^ held[0]) | (at[0][-1] ^ held[1]) | (at[1][0] ^ held[2]) | (at[1][-1] ^ held[3]) |
                     (at[2][0] ^ held[4]) | (at[2][-1] ^ held[5]) | (at[3][0] ^ held[6]) | (at[3][-1] ^ held[7])))
            break;
    for (end = w->pair + n; at != end && (*at)[0] == held[0] && (*at)[-1] == held[1]; held += 2)
        at++;
    return (uint32_t)(at - w->pair);
}
static inline int words_hold(const struct words *w, struct words_count n) {
    return words_pairs_hold(w, n.pairs) == n.pairs && words_ones_hold(w, n.ones) == n.ones;
}

/* Adds the return address below `cfa`, and the bp that was saved at cfa - 8 * slot if slot is not 0. */
static inline struct words_count words_add(struct words *w, struct words_count n, uintptr_t cfa, uintptr_t ra,
                                           uint32_t slot, uintptr_t bp) {
    const uintptr_t *at = (const uintptr_t *)(cfa - 8);
    if (slot == 2) {
        w->pair[n.pairs] = at;
        w->pair_held[2 * n.pairs] = ra;
        w->pair_held[2 * n.pairs++ + 1] = bp;
        return n;
    }
    w->one[n.ones] = at;
    w->one_held[n.ones++] = ra;
    if (slot) {
        w->one[n.ones] = (const uintptr_t *)(cfa - 8ul * slot);
        w->one_held[n.ones++] = bp;
    }
    return n;
}

#endif
