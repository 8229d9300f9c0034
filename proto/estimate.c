/* SPDX-License-Identifier: Apache-2.0 */
/* How: at rate 1 the integers of the tally are the values. Otherwise sums are kept in doubles, whose 53 bits lose
 * nothing next to the error of the estimate itself. */
#include "proto/estimate.h"

#include <math.h>

/* Go's runtime/sizeclasses.go. */
static const uint16_t go_class[] = {
    8,    16,   24,   32,    48,    64,    80,    96,    112,   128,   144,   160,   176,   192,   208,   224,   240,
    256,  288,  320,  352,   384,   416,   448,   480,   512,   576,   640,   704,   768,   896,   1024,  1152,  1280,
    1408, 1536, 1792, 2048,  2304,  2688,  3072,  3200,  3456,  4096,  4864,  5120,  5376,  6144,  6528,  6784,  6912,
    8192, 9472, 9728, 10240, 10880, 12288, 13568, 14336, 16384, 18432, 19072, 20480, 21760, 24576, 27264, 28672, 32768};

enum {
    GO_CLASSES = sizeof go_class / sizeof go_class[0],
    LARGE_STEP = 8192,
    LARGE_FIRST = 32768 / LARGE_STEP, /* the multiple that is a Go class still */
    LARGE_LAST = (1 << 20) / LARGE_STEP,
    HUGE_SHIFT = 20,
    HUGE_FIRST = 1 + GO_CLASSES + LARGE_LAST - LARGE_FIRST,
};

_Static_assert(HUGE_FIRST + (64 - HUGE_SHIFT) * 8 == SIZE_CLASSES, "the header says how many classes there are");

unsigned size_class(uint64_t size) {
    if (size == 0)
        return 0;
    if (size > (1u << HUGE_SHIFT)) {
        /* size - 1, so that a class ends at the round number instead of beginning there. */
        unsigned bits = 63u - (unsigned)__builtin_clzll(size - 1);
        unsigned eighth = (unsigned)((size - 1) >> (bits - 3)) & 7u;
        return HUGE_FIRST + (bits - HUGE_SHIFT) * 8 + eighth;
    }
    if (size > LARGE_FIRST * LARGE_STEP)
        return GO_CLASSES + (unsigned)((size + LARGE_STEP - 1) / LARGE_STEP) - LARGE_FIRST;
    unsigned low = 0;
    unsigned high = GO_CLASSES - 1;
    while (low < high) {
        unsigned middle = (low + high) / 2;
        if (go_class[middle] < size)
            low = middle + 1;
        else
            high = middle;
    }
    return 1 + low;
}

uint64_t size_class_limit(unsigned class) {
    if (class == 0)
        return 0;
    if (class <= GO_CLASSES)
        return go_class[class - 1];
    if (class < HUGE_FIRST)
        return (uint64_t)(class - GO_CLASSES + LARGE_FIRST) * LARGE_STEP;
    unsigned bits = HUGE_SHIFT + (class - HUGE_FIRST) / 8, eighth = (class - HUGE_FIRST) % 8;
    return class < SIZE_CLASSES - 1 ? (uint64_t)(9 + eighth) << (bits - 3) : UINT64_MAX;
}

double sample_weight(uint64_t size, uint64_t rate) {
    if (rate <= 1 || size == 0)
        return 1.0;
    return -1.0 / expm1(-(double)size / (double)rate);
}

void tally_add(struct tally *tally, uint64_t size, uint64_t blocks, uint64_t live, uint64_t rate,
               struct estimate_total *total) {
    if (blocks == 0)
        return;
    if (tally->blocks == 0)
        tally->size = size;
    else if (tally->size != size)
        tally->mixed = true;
    tally->blocks = add_saturated(tally->blocks, blocks);
    tally->bytes = add_saturated(tally->bytes, mul_saturated(blocks, size));
    tally->live_blocks = add_saturated(tally->live_blocks, live);
    tally->live_bytes = add_saturated(tally->live_bytes, mul_saturated(live, size));
    if (total) {
        total->blocks = add_saturated(total->blocks, blocks);
        total->bytes = add_saturated(total->bytes, mul_saturated(blocks, size));
    }
    if (rate <= 1)
        return;

    double w = sample_weight(size, rate);
    double s = (double)size;
    tally->objects_est += (double)blocks * w;
    tally->space_est += (double)blocks * w * s;
    tally->live_objects_est += (double)live * w;
    tally->live_space_est += (double)live * w * s;
    if (total) {
        /* (1 - p) w^2 = (1 - 1/w) w^2 = w (w - 1) */
        double variance = (double)blocks * w * (w - 1.0);
        total->objects += (double)blocks * w;
        total->space += (double)blocks * w * s;
        total->objects_var += variance;
        total->space_var += variance * s * s;
    }
}

void estimate_add_missing(struct estimate_total *total, uint64_t exact_bytes, uint64_t exact_calls, uint64_t rate) {
    double bytes = (double)exact_bytes - total->space, calls = (double)exact_calls - total->objects;
    if (bytes > 0.0)
        total->space_var += (double)rate * bytes;
    /* With no byte for each block to go by, no less than what the estimate is seen to be off. */
    if (calls > 0.0)
        total->objects_var += bytes > calls ? (double)rate * calls * calls / bytes : calls * calls;
}

static int64_t clamp(uint64_t value) {
    return value > INT64_MAX ? INT64_MAX : (int64_t)value;
}

#define GOLDEN 2654435769u /* 2^32 / phi */

static int64_t round_with(double offset, double value) {
    double rounded = floor(value + offset);
    return rounded >= 0x1p63 ? INT64_MAX : (int64_t)rounded;
}

void tally_values(const struct tally *tally, uint64_t rate, uint64_t which, int64_t values[4]) {
    if (rate <= 1) {
        values[0] = clamp(tally->blocks);
        values[1] = clamp(tally->bytes);
        values[2] = clamp(tally->live_blocks);
        values[3] = clamp(tally->live_bytes);
        return;
    }
    double offset = (double)(uint32_t)(which * GOLDEN) * 0x1p-32;
    values[0] = round_with(offset, tally->objects_est);
    values[1] = round_with(offset, tally->space_est);
    values[2] = round_with(offset, tally->live_objects_est);
    values[3] = round_with(offset, tally->live_space_est);
}

uint64_t tally_size(const struct tally *tally) {
    return !tally->mixed ? tally->size : tally->blocks > 0 ? tally->bytes / tally->blocks : 0;
}

uint64_t error_permille(double variance, double estimate) {
    if (!(variance > 0.0))
        return 0;
    if (!(estimate > 0.0))
        return 1000;
    double permille = 1000.0 * sqrt(variance) / estimate + 0.5;
    return permille < 1e15 ? (uint64_t)permille : (uint64_t)1e15;
}
