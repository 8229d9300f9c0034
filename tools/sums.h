/* SPDX-License-Identifier: Apache-2.0 */
/* Arithmetic of a profile's values: held at the largest and the least there is, as estimate.h's is. pprof wraps. */
#ifndef CPROF_TOOLS_SUMS_H
#define CPROF_TOOLS_SUMS_H

#include <stdint.h>

static inline int64_t sum_of(int64_t a, int64_t b) {
    int64_t sum;
    return !__builtin_add_overflow(a, b, &sum) ? sum : a > 0 ? INT64_MAX : INT64_MIN;
}

static inline int64_t negative_of(int64_t value) {
    return value == INT64_MIN ? INT64_MAX : -value;
}

static inline int64_t without_sign(int64_t value) {
    return value < 0 ? negative_of(value) : value;
}

#endif
