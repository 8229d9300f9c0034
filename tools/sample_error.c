/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/sample_error.h"

#include <math.h>

void sample_error_add(struct estimate_total *total, uint64_t bytes, uint64_t blocks, uint64_t rate) {
    uint64_t size = blocks > 0 ? bytes / blocks : 0;
    uint64_t sampled = (uint64_t)llround((double)blocks / sample_weight(size, rate));
    struct tally tally = {0};
    tally_add(&tally, size, sampled, sampled, rate, total);
}
