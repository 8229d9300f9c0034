/* SPDX-License-Identifier: Apache-2.0 */
/* CPROF_PEAK: keeping, beside what is in use now, what was in use when most was.
 *
 * Each thread adds up its changes and hands them to the process's sum once they reach 1/2048 of the peak so far (4 KiB at
 * least); when the sum passes the last peak by 1/256, the blocks in use of every bucket are copied to SEGMENT_PEAK. So the
 * copy is of a moment with at least 99.5 % of the most that was ever in use, less 1/2048 for each thread that holds back, and
 * copying costs nothing while the program stays below its peak. Nobody is stopped: what changes during the copy may be in it
 * or not. Away from rate 1 a block counts with the larger of its size and the rate, near to what it stands for. */
#ifndef CPROF_RECORD_PEAK_H
#define CPROF_RECORD_PEAK_H

#include "preload/record/thread.h"

extern int peak_kept HIDDEN; /* CPROF_PEAK */

void peak_init(uint64_t rate);

/* A block of `size` bytes came to be in use, or is no longer. */
void peak_change(struct thread *t, uint64_t size, int freed);

/* In a forked child: what is in use there is not known by its parent's sum. */
void peak_restart(void);

#endif
