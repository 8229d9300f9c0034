/* SPDX-License-Identifier: Apache-2.0 */
/* One step of libunwind, for frames that are too rare to have a rule (preload/record/cfi.h). */
#ifndef CPROF_BACKEND_UNWIND_H
#define CPROF_BACKEND_UNWIND_H

#include <stdint.h>

#include "preload/record/walk.h"

/* See walk_rare in walk.h. libunwind is given an address space of ours: it sees memory through `readable` alone, finds
 * unwind tables by _dl_find_object, and keeps nothing. */
int unwind_step(struct registers *r, int (*readable)(void *ctx, uintptr_t at), void *ctx);

#endif
