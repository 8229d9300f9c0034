/* SPDX-License-Identifier: Apache-2.0 */
/* Whole stacks that a thread's samples came from, so that one which comes again need not be walked again, also if others
 * came between.
 *
 * A stack is told by the state of its innermost frame and by the words that its frames were found by (words.h). Several may
 * have the same innermost frame; each remembers which of its words told it from another one the last time, and that is
 * looked at first.
 *
 * One for each walk, made when a thread has walked often enough for it to pay, with room for some dozens of stacks. If they
 * don't fit, all are forgotten and it begins anew, later and later while few of those kept were met again. May be left at
 * any point by a longjmp out of a signal handler, as a walk may. */
#ifndef CPROF_RECORD_KNOWN_H
#define CPROF_RECORD_KNOWN_H

#include <stdint.h>

#include "preload/record/words.h"

struct stack_head {
    uintptr_t ip, sp, bp; /* of the innermost frame; ip is 0 if there is no stack */
    uintptr_t high;       /* the words lie in [sp, high) */
    uint32_t any_bp;      /* no frame depends on bp */
    uint32_t cut;         /* frames are missing at the outer end */
    uint32_t node;        /* of the call tree */
    struct words_count words; /* without the innermost frame's own */
};

/* Whether a stack with this innermost frame is the same, if the words are; all below `readable` can be looked at. */
static inline int stack_head_is(const struct stack_head *h, uintptr_t ip, uintptr_t sp, uintptr_t bp, uintptr_t readable) {
    return h->sp == sp && h->ip == ip && (h->bp == bp || h->any_bp) && likely(h->high <= readable);
}

struct known_stacks;

/* A new one; NULL if there is no room, or enough threads have one. */
struct known_stacks *known_make(void);
void known_forget(struct known_stacks *k);
void known_discard(struct known_stacks *k); /* gives its memory back */

/* The stack that has this innermost frame; NULL if it is not known. */
const struct stack_head *known_find(struct known_stacks *k, uintptr_t ip, uintptr_t sp, uintptr_t bp, uintptr_t readable);

/* To be called with each stack that was not found; keeps those that come a second time. */
void known_offer(struct known_stacks *k, const struct stack_head *stack, const struct words *words);

#endif
