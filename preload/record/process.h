/* SPDX-License-Identifier: Apache-2.0 */
/* Whose memory this is: noticing that we are in a forked child, and making what we have its own.
 *
 * A page marked MADV_WIPEONFORK reads zero in a child, however it was forked; clone with CLONE_VM and vfork share the page and
 * the process's records with it. It is looked at before the segment is touched, so that a child never writes to its
 * parent's. */
#ifndef CPROF_RECORD_PROCESS_H
#define CPROF_RECORD_PROCESS_H

#include <stdint.h>

#include "preload/record/atomic.h"
#include "preload/record/segment.h"

struct process_page {
    uint32_t ours;     /* process_number() in the process that set it, otherwise 0 */
    uint32_t adopting; /* a thread is at it */
    uint32_t rare;     /* a thread is in libunwind */
    uint32_t writing;  /* a profile is being written */
    uint32_t copying_peak; /* a thread is at it */
    uint32_t ended;    /* the last profile was begun */
};
extern struct process_page *process_page HIDDEN;
extern uint32_t process_number_now HIDDEN;
extern uint32_t process_first_bucket HIDDEN; /* buckets below it are inherited, or reserved */

/* CPROF_FORK=follow: children are profiled. Otherwise they only forward. */
extern int process_follow HIDDEN;

/* 0, or no memory. */
int process_init(void);

static inline int process_is_ours(void) {
    return load_relaxed(&process_page->ours) != 0;
}

/* 1 in the first process, another number in each forked child. */
static inline uint32_t process_number(void) {
    return load_relaxed(&process_number_now);
}

/* What was made ready for the process of this number (not 0) is so for the one that we are in. */
static inline int process_is(uint32_t number) {
    return load_relaxed(&process_page->ours) == number;
}

/* Nothing is recorded any more, here and in children: what was made ready for this process is so for none. */
void process_give_up(void);

/* pthread_atfork's handler in the child: its totals start here, and it becomes a process of its own at once, while it may still
 * open files. */
void process_forked(void);

/* In a child that was made by a bare clone, the first time it matters: what was recorded before becomes inherited, everything
 * else starts anew. Returns 1 if the calling thread's totals were started here. */
int process_adopt(void);

/* Which process this is; the start time only if a file may be opened. */
void process_identity(struct segment_identity *who, int may_open);

/* Fills in the header's fields that tell whose the segment is. */
void process_enter_header(const struct segment_identity *who);

/* The segment is complete: others may look at it. */
void process_go_live(void);

#endif
