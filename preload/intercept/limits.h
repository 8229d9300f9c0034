/* SPDX-License-Identifier: Apache-2.0 */
/* Limits of the address space (RLIMIT_AS), under which every mapping of ours is one that the program can't have.
 *
 * One that is in force at the start: at most a quarter of what the program has left is taken, all in all, and where that is too
 * little to profile with nothing is. A program that limits itself counts on what it has used itself: the segment's
 * reservation is given back before the limit is set. */
#ifndef CPROF_INTERCEPT_LIMITS_H
#define CPROF_INTERCEPT_LIMITS_H

#include <stdint.h>

#include "preload/record/atomic.h"

struct limits_share {
    uint64_t segment; /* most bytes of address space for it */
    uint64_t records; /* as memory_limit */
};

/* At the start: what may be taken, UINT64_MAX without a limit. 0 if that is too little. */
HIDDEN int limits_share(struct limits_share *share);

#endif
