/* SPDX-License-Identifier: Apache-2.0 */
/* From sampled counts to estimates of what the program did.
 *
 * Model:   the library samples bytes: each byte is a hit with the same small chance, so that the distance between two
 *          hits is exponential with mean `rate`, and a block of s bytes is sampled with probability
 *              p(s) = 1 - exp(-s / rate).
 *          Counting each sampled block w(s) = 1 / p(s) times makes the expected sum equal to the true one (the
 *          Horvitz-Thompson estimator). A bucket holds blocks of one size, so this is exact for every block; weighting
 *          the mean size of several sizes would not be.
 * Error:   the variance of an estimated sum of x over all blocks (x = 1 for objects, s for bytes) is itself estimated
 *          without bias by the sum over the sampled blocks of (1 - p) * w^2 * x^2 (Poisson sampling: Sarndal, Swensson,
 *          Wretman, Model Assisted Survey Sampling, 1992, 3.5).
 *          Example: rate 524288, one block of 64 bytes sampled: w = 8192.5, so 8192 +- 8192 objects.
 * Missing: with few samples that says too little: blocks of which none was sampled add nothing to it. The exact totals
 *          tell how many there are at least, and a block adds s^2 (1 - p) / p <= rate * s to the variance of the bytes;
 *          to that of the objects (1 - p) / p <= rate / s, summed up at the mean size of what is missing.
 * Rate 1:  (and 0) every block was recorded: w = 1, and figures are integers throughout, exact up to 2^63 - 1 and
 *          held there beyond.
 * Rounding: a profile holds integers. To the nearest would take 0.4 from each stack that has one block of weight 1.4, all
 *          of the same sign; so all figures of a sample are rounded down after adding an offset in [0, 1) that belongs
 *          to its stack and size class (dithering). The offsets are evenly spread (multiples of the golden ratio,
 *          Knuth, TAOCP 6.4), so sums are right; they stay the same throughout a process, so a later profile of it never
 *          shows less allocated than an earlier one, and what did not change shows no difference. "In use" is never
 *          more than "allocated", 0 where everything was freed, and all of it where nothing was.
 */
#ifndef CPROF_PROTO_ESTIMATE_H
#define CPROF_PROTO_ESTIMATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Sizes are grouped by Go's size classes up to 32768 bytes, by multiples of 8192 up to 1 MiB and by eighths of a power
 * of two beyond. Size 0 is a class of its own. */
#define SIZE_CLASSES 545u
unsigned size_class(uint64_t size);

/* Largest size of a class. */
uint64_t size_class_limit(unsigned class);

/* Sampled blocks of one or more buckets. */
struct tally {
    uint64_t blocks; /* as recorded, not weighted */
    uint64_t bytes;
    uint64_t live_blocks; /* those of them still in use */
    uint64_t live_bytes;
    double objects_est; /* weighted; not kept at rate 1 */
    double space_est;
    double live_objects_est;
    double live_space_est;
    uint64_t size; /* of the blocks, if they all are of one */
    bool mixed;    /* they are not */
};

/* Estimated sums over the whole profile and their variances (0 at rate 1). */
struct estimate_total {
    uint64_t blocks;
    uint64_t bytes;
    double objects;
    double space;
    double objects_var;
    double space_var;
};

/* Adds to the variances what the exact totals show to be missing. */
void estimate_add_missing(struct estimate_total *total, uint64_t exact_bytes, uint64_t exact_calls, uint64_t rate);

/* w(s). 1 for a size of 0, which is never sampled, and at rate 0 and 1. */
double sample_weight(uint64_t size, uint64_t rate);

/* Adds `blocks` blocks of `size` bytes, `live` (<= blocks) of them in use. `tally` starts all zero. `total` may be
 * NULL. */
void tally_add(struct tally *tally, uint64_t size, uint64_t blocks, uint64_t live, uint64_t rate,
               struct estimate_total *total);

/* The four values as a profile has them: alloc_objects, alloc_space, inuse_objects, inuse_space. `which` chooses the
 * offset of the rounding: the same number for the same stack and class, small ones for the best spread. */
void tally_values(const struct tally *tally, uint64_t rate, uint64_t which, int64_t values[4]);

/* Size to name on the label: the one size, or the mean of the recorded blocks, rounded down, as Go does. */
uint64_t tally_size(const struct tally *tally);

/* One standard error in per mille of the estimate: 100 sqrt(variance) / estimate, times ten. Without an
 * estimate 100 % if there is a variance, else 0. */
uint64_t error_permille(double variance, double estimate);

/* Integers that stay at their largest value instead of wrapping. */
static inline uint64_t add_saturated(uint64_t a, uint64_t b) {
    uint64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

static inline uint64_t mul_saturated(uint64_t a, uint64_t b) {
    uint64_t product;
    return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

#endif
