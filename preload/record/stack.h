/* SPDX-License-Identifier: Apache-2.0 */
/* Which part of memory may be read while walking.
 *
 * A walk reads above the stack pointer. How far the stack goes is found out by asking the kernel page by page, the first
 * time that a page is needed: madvise(MADV_POPULATE_READ) fails where reading would fault. So neither /proc nor
 * pthread_getattr_np is needed (which locks), a coroutine's or an alternate stack is like any other, and under a filter
 * of system calls that lets malloc live, this lives. Kernels before 5.14 don't know that advice; there the bounds come
 * from /proc/thread-self/maps. */
#ifndef CPROF_RECORD_STACK_H
#define CPROF_RECORD_STACK_H

#include <stddef.h>
#include <stdint.h>

#include "preload/record/atomic.h"

/* All bytes of [low, high) are readable; both are page boundaries. */
struct stack_range {
    uintptr_t low, high;
};

/* The thread's own stack is asked about once: it stays as long as the thread, from where code runs on it up to an address that
 * is known to be on it. Any other (a coroutine's, an alternate one) may have been unmapped and replaced by a smaller one at
 * the same place since the last walk, and is asked about each time: of the last few it is known how far, which is one question
 * instead of one for each page. So is what lies right below the own one and may be part of it (STACK_BELOW: up to the end of
 * the own one), or a coroutine's in the same mapping. */
enum { STACK_OWN, STACK_BELOW, STACK_OTHER, STACK_OTHERS = 8 };
struct stack {
    struct stack_range known[STACK_OTHER + STACK_OTHERS];
    int current; /* the one that the walk is on */
    int oldest;  /* of the others */
    int is_main; /* the main thread's */
    uintptr_t anchor;
};

/* Finds out what the kernel can do. Once, in the main thread; `on_main_stack` is an address above all of its frames. */
void stack_init(uintptr_t on_main_stack);

/* Of the calling thread. */
void stack_begin(struct stack *s);

/* Makes the range that `sp` is in the current one. 0 if the page at sp can't be read. */
int stack_change(struct stack *s, uintptr_t sp);
static inline int stack_enter(struct stack *s, uintptr_t sp) {
    const struct stack_range *r = &s->known[STACK_OWN];
    s->current = STACK_OWN;
    return likely(sp >= r->low && sp < r->high) || stack_change(s, sp);
}

/* Frames that lie side by side lead from `sp` into the thread's own stack: it is part of that, with all between. */
void stack_confirm(struct stack *s, uintptr_t sp);

/* Extends the current range up to `limit` (not included); 0 if that can't all be read. */
int stack_extend(struct stack *s, uintptr_t limit);

/* For a word too far above the current range to extend that: makes the range that it is in, with a page below, the current one.
 * What lies between is not read, so nobody asks whether it can be. 0, and nothing changed, if it is not so far, or farther
 * than any frame is large, or can't be read. */
int stack_jump(struct stack *s, uintptr_t at);

/* 1 if the 8 bytes at `at`, aligned and in the current range or just above it, may be read. */
static inline int stack_readable(struct stack *s, uintptr_t at) {
    const struct stack_range *r = &s->known[s->current];
    if (unlikely(at & 7) || unlikely(at < r->low))
        return 0;
    return likely(at < r->high) || stack_extend(s, at + 8);
}

/* 1 if [at, at + len) can be read. Costs a system call. */
int stack_probe(uintptr_t at, size_t len);

#endif
