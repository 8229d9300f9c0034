/* SPDX-License-Identifier: Apache-2.0 */
/* What each thread of the program has of ours.
 *
 * The fast path of an allocation touches one word of thread-local storage, `thread_self`, and one cache line behind it.
 * Thread-local storage is initial-exec and 8 bytes in all: the loader's reserve is small, and touching it must not allocate.
 *
 * Nothing is done when a thread ends (destructors run in no useful order, and threads allocate after theirs ran). Instead a
 * new thread takes over the record of an earlier one that had the same thread pointer: two live threads can't share one, so
 * that one is gone. Its totals go on in the same record, so that none is lost. */
#ifndef CPROF_RECORD_THREAD_H
#define CPROF_RECORD_THREAD_H

#include <stddef.h>
#include <stdint.h>

#include "preload/record/walk.h"
#include "proto/segment.h"


/* How many samples of a thread may be in the making: signal handlers interrupt one and allocate themselves, or go over to another
 * coroutine that does. Beyond, only the innermost frame is recorded. */
#define THREAD_LEVELS 8

#define THREAD_NO_PROCESS UINT32_MAX

/* On the stack of who uses a walk, while it does: holds its own address. If it doesn't any more, its user was left by a longjmp
 * out of a signal handler, and something else is there now. */
struct thread_mark {
    struct thread_mark *volatile self;
};

struct thread {
    /* The fast path's line. All three change by single additions, so that a signal handler may do the same anywhere. */
    int64_t countdown; /* bytes to the next sample point; negative: record */
    uint64_t calls;    /* successful allocations */
    uint64_t base;     /* bytes asked for = base - countdown */

    uint64_t samples;
    uint32_t process; /* that this line was made ready for (process_number(), or none); what follows down to `random` depends on it */
    uint32_t open;    /* buckets for which `counts` has memory */
    struct segment_count *counts;   /* the shard's counters */
    struct segment_thread *publish; /* where others see the totals */
    uint64_t random;
    uint32_t shard; /* of the segment's counters */
    uint32_t owned; /* the shard is this thread's alone */
    uintptr_t pointer; /* thread pointer of the owner */
    struct thread *older; /* the record made before this one */
    int64_t held;          /* change of the bytes in use that peak.c was not told yet */
    int64_t peak_credit;   /* for copies that this thread makes; below zero is what it was given at first */
    uint32_t held_version; /* in which process */
    struct thread_mark *user[THREAD_LEVELS]; /* who uses each walk; NULL: nobody */
    struct walk *walk[THREAD_LEVELS];
} __attribute__((aligned(128)));

/* Of a thread that was not seen yet thread_self is &thread_unknown, whose countdown is negative. */
extern __thread struct thread *thread_self HIDDEN __attribute__((tls_model("initial-exec")));
extern struct thread thread_unknown HIDDEN;

/* To be called before the first look at thread_self. The loader fills in thread-local storage after it has relocated everything,
 * but resolvers of indirect functions run before that, and may allocate. */
static inline void thread_early(void) {
    if (unlikely(!thread_self))
        thread_self = &thread_unknown;
}

/* The calling thread's record, made if it is new (its countdown is 0 or what an earlier owner left). NULL if there is no room. */
struct thread *thread_get(void);

/* Makes `mark` the user of walk 0, if nobody is; 1: done. By one instruction: a signal handler may do the same, and not return. */
static inline int thread_use_first(struct thread *t, struct thread_mark *mark) {
    struct thread_mark *nobody = NULL;
    __asm__ volatile("cmpxchgq %2, %1" : "+a"(nobody), "+m"(t->user[0]) : "r"(mark) : "cc", "memory");
    return !nobody;
}

/* Makes `mark` the user of the first walk that nobody uses any more; returns its level, THREAD_LEVELS if there is none. */
uint32_t thread_use_any(struct thread *t, struct thread_mark *mark);

/* The walk for a level, made if need be; NULL if there is no memory. */
struct walk *thread_walk(struct thread *t, uint32_t level);

/* Gives the walks of all threads back. Only while no other thread can be using them. */
void thread_discard_walks(void);

/* Calls back for every record there is, of living threads and ended ones. */
void thread_each(void (*fn)(struct thread *t, void *ctx), void *ctx);

#endif
