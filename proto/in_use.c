/* SPDX-License-Identifier: Apache-2.0 */
#include "proto/in_use.h"

void in_use_sum(const struct segment_view *view, struct estimate_total *now, struct estimate_total *at_peak) {
    struct tally unused = {0};
    for (uint32_t i = SEGMENT_BUCKET_FIRST; i < view->used[SEGMENT_BUCKETS]; i++) {
        struct segment_bucket bucket;
        if (!segment_view_bucket(view, i, &bucket))
            continue;
        struct segment_count count = segment_view_counts(view, i);
        uint64_t live = count.allocs - count.frees, peak = segment_view_peak(view, i);
        tally_add(&unused, bucket.size, live, live, view->header.rate, now);
        tally_add(&unused, bucket.size, peak, peak, view->header.rate, at_peak);
    }
}

static uint64_t result(uint64_t exact, double estimated, uint64_t rate) {
    return rate <= 1 ? exact : estimated < 0x1p63 ? (uint64_t)(estimated + 0.5) : INT64_MAX;
}

uint64_t in_use_bytes(const struct estimate_total *total, uint64_t rate) {
    return result(total->bytes, total->space, rate);
}

uint64_t in_use_objects(const struct estimate_total *total, uint64_t rate) {
    return result(total->blocks, total->objects, rate);
}

bool in_use_peak_is_past(const struct segment_view *view) {
    struct estimate_total now = {0}, at_peak = {0};
    in_use_sum(view, &now, &at_peak);
    return in_use_bytes(&at_peak, view->header.rate) >= in_use_bytes(&now, view->header.rate);
}
