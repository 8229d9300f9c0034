/* SPDX-License-Identifier: Apache-2.0 */
/* The words of memory that frames were found by, and what they held then: if they hold it still, the frames are the same.
 *
 * A frame is found by its return address and, where some frame further out needs it, by the rbp that was saved. In code
 * with frame pointers the two lie side by side and are looked at as a pair. All loads are independent of each other: looking
 * at an unchanged stack costs little more than these.
 *
 * Pairs are compared in two vector registers, the only ones that recording uses. They are put back, since callers exist
 * that count on it (glibc before 2.39, where a thread-local variable of a plugin is made: BZ 31372); the instructions
 * neither trap nor look at the floating-point state. */
#ifndef CPROF_RECORD_WORDS_H
#define CPROF_RECORD_WORDS_H

#include <stddef.h>
#include <stdint.h>

#include "preload/record/atomic.h"

struct words {
    const uintptr_t **one;
    uintptr_t *one_held;
    const uintptr_t **pair; /* of each the lower one; the other is right above */
    uintptr_t *pair_held;   /* what they held; on a multiple of 16 bytes */
};

struct words_count {
    uint16_t ones, pairs;
};

/* Bytes for as many words as `frames` frames can have. */
static inline size_t words_bytes(uint32_t frames) {
    return frames * (2 * 2 + 3) * sizeof(uintptr_t) + 8;
}
static inline struct words words_at(void *memory, uint32_t frames) {
    struct words w;
    w.pair_held = (uintptr_t *)(((uintptr_t)memory + 15) & ~15ul);
    w.pair = (const uintptr_t **)(w.pair_held + 2 * frames);
    w.one = w.pair + frames;
    w.one_held = (uintptr_t *)(w.one + 2 * frames);
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
/* Leaves what it likes in xmm0 and xmm1. */
static inline int words_four_pairs_hold(const uintptr_t **at, const uintptr_t *held) {
    uint32_t same;
    __asm__ volatile("movdqu (%1), %%xmm0\n\tpcmpeqd (%5), %%xmm0\n\t"
                     "movdqu (%2), %%xmm1\n\tpcmpeqd 16(%5), %%xmm1\n\tpand %%xmm1, %%xmm0\n\t"
                     "movdqu (%3), %%xmm1\n\tpcmpeqd 32(%5), %%xmm1\n\tpand %%xmm1, %%xmm0\n\t"
                     "movdqu (%4), %%xmm1\n\tpcmpeqd 48(%5), %%xmm1\n\tpand %%xmm1, %%xmm0\n\t"
                     "pmovmskb %%xmm0, %0"
                     : "=r"(same)
                     : "r"(at[0]), "r"(at[1]), "r"(at[2]), "r"(at[3]), "r"(held)
                     : "memory");
    return same == 0xffff;
}
static inline uint32_t words_pairs_hold(const struct words *w, uint32_t n) {
    const uintptr_t **at = w->pair, **end = at + (n & ~3u);
    const uintptr_t *held = w->pair_held;
    uint64_t saved[4];
    if (at != end) {
        __asm__ volatile("movups %%xmm0, (%0)\n\tmovups %%xmm1, 16(%0)" : : "r"(saved) : "memory");
        for (; at != end && likely(words_four_pairs_hold(at, held)); at += 4, held += 8)
            ;
        __asm__ volatile("movups (%0), %%xmm0\n\tmovups 16(%0), %%xmm1" : : "r"(saved) : "memory");
    }
    for (end = w->pair + n; at != end && (*at)[0] == held[0] && (*at)[1] == held[1]; held += 2)
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
        w->pair[n.pairs] = at - 1;
        w->pair_held[2 * n.pairs] = bp;
        w->pair_held[2 * n.pairs++ + 1] = ra;
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
