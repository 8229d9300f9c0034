/* SPDX-License-Identifier: Apache-2.0 */
/* What is in use, by a segment, now and at its peak. */
#ifndef CPROF_PROTO_IN_USE_H
#define CPROF_PROTO_IN_USE_H

#include "proto/estimate.h"
#include "proto/view.h"

/* Sums over all buckets; both start at zero. `at_peak` is of the copy that the library keeps (preload/record/peak.h). */
void in_use_sum(const struct segment_view *view, struct estimate_total *now, struct estimate_total *at_peak);

/* Bytes: exact at rate 1, where a sum of products may not lose its last digits. */
uint64_t in_use_bytes(const struct estimate_total *total, uint64_t rate);
uint64_t in_use_objects(const struct estimate_total *total, uint64_t rate);

/* False: more is in use now than in the copy, which is a little behind while a program grows. Then now is the peak. */
bool in_use_peak_is_past(const struct segment_view *view);

#endif
