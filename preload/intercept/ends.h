/* SPDX-License-Identifier: Apache-2.0 */
/* Ways out of the process that run no exit handlers. */
#ifndef CPROF_INTERCEPT_ENDS_H
#define CPROF_INTERCEPT_ENDS_H

#include "preload/record/atomic.h"

/* In the parent, after each fork. */
HIDDEN void ends_forked(void);

#endif
