/* SPDX-License-Identifier: Apache-2.0 */
/* Whether anybody still writes to a segment, and who (segments.h says how). */
#ifndef CPROF_TOOLS_SEGMENT_LIFE_H
#define CPROF_TOOLS_SEGMENT_LIFE_H

#include "tools/segments.h"

/* Fills in `life` and `process` of a segment that is open. */
void segment_find_owner(struct segment_file *file);

#endif
