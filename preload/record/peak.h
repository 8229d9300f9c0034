/* SPDX-License-Identifier: Apache-2.0 */
/* CPROF_PEAK: keeping, beside what is in use now, what was in use when most was.
 *
 * Each thread adds up its changes and hands them to the process's sum once they reach 1/2048 of the peak so far (4 KiB at
 * least). The blocks in use of every bucket are copied to SEGMENT_PEAK
 *   - when the sum passes the last peak by 1/256;
 *   - when a block is about to be freed and more is in use than ever, as far as the freeing thread knows. A thread may spend on
 *     these copies, in buckets, what it has had of allocations and frees, in quarters, and some at first; so that a program that
 *     climbs in zigzag does not spend its time on them;
 *   - at the end, if more is in use than was at the last copy.
 * So the copy of one thread's program is of the very peak, but where it had no credit left, and then of a moment with at least
 * 99.5 % of it; less 1/2048 for each further thread that holds back. Copying costs nothing while the program stays below its
 * peak. Nobody is stopped: what changes during the copy may be in it or not. Away from rate 1 a block counts with the larger
 * of its size and the rate, near to what it stands for, and the highest of many estimates is rather too high. */
#ifndef CPROF_RECORD_PEAK_H
#define CPROF_RECORD_PEAK_H

#include "preload/record/thread.h"

extern int peak_kept HIDDEN; /* CPROF_PEAK */

void peak_init(uint64_t rate);

/* A block of `size` bytes was counted as allocated; one is about to be counted as freed. */
void peak_allocated(struct thread *t, uint64_t size);
void peak_freed(struct thread *t, uint64_t size);

/* Before the peak is written for the last time. */
void peak_settle(void);

/* In a forked child: what is in use there is not known by its parent's sum. */
void peak_restart(void);

#endif
