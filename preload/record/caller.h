/* SPDX-License-Identifier: Apache-2.0 */
/* One frame up, by what the tables say alone and without a walk's memory: for the few frames between two of this library's own
 * functions. */
#ifndef CPROF_RECORD_CALLER_H
#define CPROF_RECORD_CALLER_H

#include "preload/record/walk.h"

/* Replaces *r by the caller's registers. 1: done; 0: the way up is none of the usual ones, or leads out of [r->sp, limit), of
 * which all that is looked at is part of the frame itself. Signals' frames are not climbed. */
int caller_of(struct registers *r, uintptr_t limit);

#endif
