/* SPDX-License-Identifier: Apache-2.0 */
#include "preload/record/known.h"

#include "preload/record/index.h"
#include "preload/record/memory.h"

#define HEADS_BITS 8
#define SEEN_BITS 8
#define ROOM (96u << 10) /* bytes for stacks: 64 of 40 frames with frame pointers, 100 without */
#define TRIES 32         /* stacks with the same innermost frame that are looked at */

/* Threads that may have one: 6 MiB in all. */
#define MOST_THREADS 64

/* Stacks are kept as long as half of those kept were met again, on the average; otherwise this many samples pass before the
 * next one is, and twice as many each time, up to the second number. */
#define PAUSE_MIN 1024
#define PAUSE_MAX (1u << 20)

struct known {
    struct stack_head head;
    uint32_t next; /* in the list, as 1 + its place in `room`; 0: none */
    const uintptr_t *telling; /* the word that is looked at first */
    uintptr_t told;           /* what it held */
    uintptr_t word[] __attribute__((aligned(16))); /* the arrays of struct words, one behind the other */
};

struct known_stacks {
    uint32_t first[1u << HEADS_BITS]; /* lists by innermost frame */
    uint32_t seen[1u << SEEN_BITS];   /* nodes that came once, by their numbers */
    uint32_t used;                    /* of `room` */
    uint32_t kept, met;               /* since it was last forgotten */
    uint32_t pause, wait;             /* the next pause, and what is left of this one; both in samples */
    uintptr_t room[ROOM / sizeof(uintptr_t)] __attribute__((aligned(16)));
};

static uint32_t threads;

struct known_stacks *known_make(void) {
    if (add_relaxed(&threads, 1u) >= MOST_THREADS) {
        add_relaxed(&threads, -1u);
        return NULL;
    }
    struct known_stacks *k = memory_map(sizeof *k);
    if (k)
        k->pause = PAUSE_MIN;
    else
        add_relaxed(&threads, -1u);
    return k;
}

void known_discard(struct known_stacks *k) {
    memory_unmap(k, sizeof *k);
    add_relaxed(&threads, -1u);
}

/* Nobody may find what is about to be overwritten. */
void known_forget(struct known_stacks *k) {
    for (unsigned i = 0; i < 1u << HEADS_BITS; i++)
        k->first[i] = 0;
    __asm__ volatile("" ::: "memory");
    k->used = k->kept = k->met = 0;
}

static inline uint32_t *list_of(struct known_stacks *k, uintptr_t ip, uintptr_t sp) {
    return &k->first[(ip + sp * 3) * 0x9e3779b97f4a7c15ull >> (64 - HEADS_BITS)];
}

static inline struct words words_of(struct known *s) {
    struct words w;
    w.pair_held = s->word;
    w.pair = (const uintptr_t **)(w.pair_held + 2 * s->head.words.pairs);
    w.one = w.pair + s->head.words.pairs;
    w.one_held = (uintptr_t *)(w.one + s->head.words.ones);
    return w;
}

/* Whether all words hold; if not, the one that does not is the one to look at next time. */
static inline int holds(struct known *s) {
    struct words w = words_of(s);
    uint32_t pair = words_pairs_hold(&w, s->head.words.pairs);
    if (pair < s->head.words.pairs) {
        int upper = w.pair[pair][1] != w.pair_held[2 * pair + 1];
        s->telling = w.pair[pair] + upper;
        s->told = w.pair_held[2 * pair + (uint32_t)upper];
        return 0;
    }
    uint32_t one = words_ones_hold(&w, s->head.words.ones);
    if (one < s->head.words.ones) {
        s->telling = w.one[one];
        s->told = w.one_held[one];
        return 0;
    }
    return 1;
}

const struct stack_head *known_find(struct known_stacks *k, uintptr_t ip, uintptr_t sp, uintptr_t bp, uintptr_t readable) {
    uint32_t at = *list_of(k, ip, sp);
    for (int i = 0; at && i < TRIES; i++) {
        struct known *s = (struct known *)&k->room[at - 1];
        at = s->next;
        if (stack_head_is(&s->head, ip, sp, bp, readable) && *s->telling == s->told && holds(s)) {
            k->met++;
            return &s->head;
        }
    }
    return NULL;
}

/* Room for a stack with these words; NULL if there is none now. */
static struct known *take(struct known_stacks *k, struct words_count n) {
    uint32_t size = (uint32_t)(sizeof(struct known) / sizeof(uintptr_t)) + 2u * n.ones + 3u * n.pairs;
    size += size % 2;
    if (unlikely(k->used + size > ROOM / sizeof(uintptr_t))) {
        if (k->met < k->kept / 2) {
            k->wait = k->pause;
            k->pause = k->pause < PAUSE_MAX ? 2 * k->pause : PAUSE_MAX;
        } else {
            k->pause = PAUSE_MIN;
        }
        known_forget(k);
        return NULL;
    }
    struct known *s = (struct known *)&k->room[k->used];
    k->used += size;
    return s;
}

static void copy(void *to, const void *from, uint32_t words) {
    for (uint32_t i = 0; i < words; i++)
        ((uintptr_t *)to)[i] = ((const uintptr_t *)from)[i];
}

void known_offer(struct known_stacks *k, const struct stack_head *stack, const struct words *words) {
    const struct words_count n = stack->words;
    if (k->wait) {
        k->wait--;
        return;
    }
    uint32_t *seen = &k->seen[stack->node * 0x9e3779b9u >> (32 - SEEN_BITS)];
    if (*seen != stack->node) {
        *seen = stack->node;
        return;
    }
    if (!n.ones && !n.pairs)
        return;
    struct known *s = take(k, n);
    if (!s)
        return;
    s->head = *stack;
    struct words w = words_of(s);
    copy(w.one, words->one, n.ones);
    copy(w.one_held, words->one_held, n.ones);
    copy(w.pair, words->pair, n.pairs);
    copy(w.pair_held, words->pair_held, 2u * n.pairs);
    s->telling = n.ones ? w.one[0] : w.pair[0];
    s->told = n.ones ? w.one_held[0] : w.pair_held[0];
    uint32_t *first = list_of(k, stack->ip, stack->sp);
    s->next = *first;
    k->kept++;
    __asm__ volatile("" ::: "memory");
    *first = (uint32_t)((uintptr_t *)s - k->room) + 1;
}
