/* SPDX-License-Identifier: Apache-2.0 */
/* Recording: what the interposed functions call when their fast path does not do.
 *
 * Stage:  intercept -> record -> (sampler, walk, tree, shadow) -> segment
 * Called: in any thread, in signal handlers, on any stack, before and after everything else in the process's life.
 * Never:  allocates, locks, waits, or touches errno; makes system calls only when something is met for the first time
 *         (mmap, munmap, mprotect and madvise alone). */
#ifndef CPROF_RECORD_RECORD_H
#define CPROF_RECORD_RECORD_H

#include <stddef.h>
#include <stdint.h>

#include "preload/record/atomic.h"
#include "preload/record/shadow.h"
#include "preload/record/thread.h"

struct record_settings {
    uint64_t rate;    /* 0: forward only */
    uint64_t seed;
    int repeatable;   /* CPROF_SEED is given: nothing but it and process numbers make the random numbers */
    unsigned granule; /* of the shadow map */
    int started;      /* CPROF_START */
};

/* The segment must be there. 0 or -errno. */
int record_init(const struct record_settings *s);

/* Instead of it: nothing will ever be recorded. */
void record_never(void);

/* Nothing more will be, here and in children. With `alone`, while there is no other thread, what was recorded is forgotten and
 * the memory for it goes back, but for what threads have in any case. */
void record_give_up(int alone);

/* In a forked child, when its segment is there: it draws its own random numbers, and so does the thread that goes on from now on.
 * With its parent's a child would sample just what its siblings do. (One that libc's fork did not make is only seen when it
 * first records, and has used up its parent's distance by then.) */
void record_reseed(void);
void record_redraw(void);

/* Blocks are recorded in this process, so that stacks can be looked at. */
int record_is_on(void);

/* Recording of new blocks on and off; those recorded stay known. */
void record_switch(int on);

/* A block of `size` bytes was handed out at `p`, and the thread's countdown said so (its line is up to date). */
void record_block(void *p, size_t size, const struct registers *caller);

/* The block at `p` is about to be freed. */
void record_free(void *p);

/* realloc: the block is about to be resized. What it was is to be given to one of the other two. */
uint32_t record_detach(void *p);
void record_reattach(void *p, uint32_t bucket); /* it stays as it was */
void record_detached_freed(uint32_t bucket);    /* it is gone, or moved, or has another size */

/* A library was closed. */
void record_unloaded(void);

/* Between the two, allocations of the calling thread are neither recorded nor counted: they are the library's own doing. */
void record_pause(void);
void record_resume(void);

struct record_totals {
    uint64_t bytes, calls; /* asked for by successful allocations; exact */
    uint64_t samples;
};
void record_totals(struct record_totals *totals);

/* Recorded blocks and their bytes, not scaled up. */
void record_sampled(uint64_t *bytes, uint64_t *blocks);

/* Brings the segment's per-thread totals up to date. */
void record_publish(void);

/* Called with no argument whenever a sample was taken: the place for what happens every so often. NULL: nothing. */
extern void (*record_tick)(void) HIDDEN;

/* Looks whether this is a forked child that has not noticed yet, and makes the records its own (process_adopt). */
int record_check_process(void);

#endif
