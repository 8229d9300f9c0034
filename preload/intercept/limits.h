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

/* What is not scaled: the backend and the libraries it needs (3 MiB), memory put aside for the encoder (2.2 MiB), the shadow map's
 * tables for the two places that a small program has its heap at (8 MiB), a few threads. */
#define LIMITS_FIXED (14ul << 20)
#define LIMITS_LEAST_SEGMENT (5ul << 20) /* what segment_create() comes down to */
#define LIMITS_LEAST_RECORDS (2ul << 20)
#define LIMITS_SHARE 4 /* of what the program has left, one part in so many */
/* A program that has less than this left is not profiled; `cprof doctor` foretells that. */
#define LIMITS_LEAST (LIMITS_SHARE * (LIMITS_FIXED + LIMITS_LEAST_SEGMENT + LIMITS_LEAST_RECORDS))

struct limits_share {
    uint64_t segment; /* most bytes of address space for it */
    uint64_t records; /* as memory_limit */
};

/* At the start: what may be taken, UINT64_MAX without a limit. 0 if that is too little. */
HIDDEN int limits_share(struct limits_share *share);

#endif
