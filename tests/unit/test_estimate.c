/* SPDX-License-Identifier: Apache-2.0 */
/* The arithmetic of estimates: size classes, weights, rounding, and that they are right on average. */
#include "tests/unit/tap.h"

#include "proto/estimate.h"

#include <math.h>

static void test_classes(void) {
    static const uint64_t edges[] = {
        0,       8,    16,    24,    32,    48,    112,   128,      1024,           1152,
        8192,    9472, 27264, 28672, 32768, 40960, 49152, 1u << 20, 9 * (1u << 17), 5 * (1u << 18),
        1u << 21};
    bool good = true;
    for (size_t i = 0; i < sizeof edges / sizeof edges[0]; i++)
        good = good && size_class(edges[i]) < size_class(edges[i] + 1) &&
               (edges[i] == 0 || size_class(edges[i]) == size_class(edges[i] - 1 + (edges[i] == 1)));
    ok(good, "sizes of a class go up to Go's sizes, and to round ones beyond");
    bool rising = true;
    for (uint64_t size = 0; size < 4u << 20; size++)
        rising = rising && size_class(size + 1) - size_class(size) <= 1;
    for (unsigned bit = 22; bit < 64; bit++)
        rising = rising && size_class(UINT64_C(1) << bit) < size_class((UINT64_C(1) << bit) + 1);
    ok(rising, "classes follow one another");
    bool inverse = true;
    for (unsigned class = 0; class < SIZE_CLASSES; class++) {
        uint64_t limit = size_class_limit(class);
        inverse = inverse && size_class(limit) == class && (limit == UINT64_MAX || size_class(limit + 1) == class + 1);
    }
    ok(inverse, "the largest size of each class is in it, and the next size in the next one");
    is(size_class(UINT64_MAX), SIZE_CLASSES - 1, "the largest size is in the last one");
}

static void test_weights(void) {
    ok(sample_weight(100, 1) == 1 && sample_weight(100, 0) == 1, "at rate 1 each block counts once");
    ok(fabs(sample_weight(64, 524288) - 8192.5) < 0.01, "64 bytes at the default rate");
    ok(fabs(sample_weight(524288, 524288) - 1.5819767) < 1e-6, "as many bytes as the rate");
    ok(sample_weight(UINT64_MAX, 524288) == 1, "a huge block is sampled for certain");
    ok(sample_weight(0, 524288) == 1, "a block of no bytes is never sampled");
    ok(isfinite(sample_weight(1, UINT64_MAX)), "the smallest at the largest rate");
}

/* splitmix64: any sequence of numbers will do that is the same each time. */
static uint64_t random_state = 1;
static uint64_t random64(void) {
    uint64_t z = (random_state += 0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
}

static double uniform(void) {
    return ((double)(random64() >> 11) + 0.5) * 0x1p-53;
}

static uint64_t sampled_of(uint64_t blocks, uint64_t size, uint64_t rate) {
    uint64_t sampled = 0;
    for (uint64_t i = 0; i < blocks; i++)
        sampled += uniform() < -expm1(-(double)size / (double)rate);
    return sampled;
}

/* Many profiles of 1000 blocks of 700 bytes and 50 of 9000, sampled at 4096: the mean of the estimates must be the
 * truth, and their spread what they say themselves. */
static void test_unbiased(void) {
    enum { RUNS = 2000, RATE = 4096 };
    double sum[2] = {0, 0};
    double square[2] = {0, 0};
    double variance[2] = {0, 0};
    const double truth[2] = {1050, 1000 * 700 + 50 * 9000};
    for (int run = 0; run < RUNS; run++) {
        struct tally small = {0};
        struct tally large = {0};
        struct estimate_total total = {0};
        int64_t a[4];
        int64_t b[4];
        tally_add(&small, 700, sampled_of(1000, 700, RATE), 0, RATE, &total);
        tally_add(&large, 9000, sampled_of(50, 9000, RATE), 0, RATE, &total);
        tally_values(&small, RATE, 2 * (uint64_t)run, a);
        tally_values(&large, RATE, 2 * (uint64_t)run + 1, b);
        for (int k = 0; k < 2; k++) {
            double value = (double)(a[k] + b[k]);
            sum[k] += value;
            square[k] += (value - truth[k]) * (value - truth[k]);
        }
        variance[0] += total.objects_var;
        variance[1] += total.space_var;
    }
    for (int k = 0; k < 2; k++) {
        const char *what = k == 0 ? "objects" : "bytes";
        double sigma = sqrt(square[k] / RUNS / RUNS);
        ok(fabs(sum[k] / RUNS - truth[k]) < 4 * sigma, "estimated %s are right on average (%.1f of %.0f)", what,
           sum[k] / RUNS, truth[k]);
        /* The relative error of a variance from n runs is about sqrt(2/n): 3 %. */
        ok(fabs(variance[k] / square[k] - 1) < 0.13, "their error is what is said (%.3f)", variance[k] / square[k]);
    }
}

static void test_rounding(void) {
    double exact[4] = {0};
    int64_t sums[4] = {0};
    bool near = true;
    bool growing = true;
    bool ordered = true;
    bool extremes = true;
    const int stacks = 100000;
    for (int i = 0; i < stacks; i++) {
        struct tally tally = {0};
        uint64_t size = random64() % 20000 + 1;
        uint64_t blocks = random64() % 5 + 1;
        uint64_t live = random64() % (blocks + 1);
        tally_add(&tally, size, blocks, live, 8192, NULL);
        int64_t v[4], later[4];
        tally_values(&tally, 8192, (uint64_t)i, v);
        double w = sample_weight(size, 8192);
        const double add[4] = {(double)blocks * w, (double)(blocks * size) * w, (double)live * w,
                               (double)(live * size) * w};
        for (int k = 0; k < 4; k++) {
            exact[k] += add[k];
            sums[k] += v[k];
            near = near && fabs(add[k] - (double)v[k]) < 1;
        }
        ordered = ordered && v[2] >= 0 && v[2] <= v[0] && v[3] >= 0 && v[3] <= v[1];
        if (live == 0)
            extremes = extremes && v[2] == 0 && v[3] == 0;
        if (live == blocks)
            extremes = extremes && v[2] == v[0] && v[3] == v[1];
        tally_add(&tally, size, 1, 1, 8192, NULL);
        tally_values(&tally, 8192, (uint64_t)i, later);
        for (int k = 0; k < 4; k++)
            growing = growing && later[k] > v[k];
        struct tally freed = {0};
        tally_add(&freed, size, blocks, 0, 8192, NULL);
        tally_values(&freed, 8192, (uint64_t)i, later);
        growing = growing && later[0] == v[0] && later[1] == v[1];
    }
    for (int k = 0; k < 4; k++)
        ok(fabs(exact[k] - (double)sums[k]) < 4 * 0.5 * sqrt(stacks), "%d roundings move a sum by %.0f", stacks,
           exact[k] - (double)sums[k]);
    ok(near, "a rounding moves a figure by less than 1");
    ok(growing, "a further block shows more, and freeing some no less allocated");
    ok(ordered, "in use is never negative and never more than allocated");
    ok(extremes, "all freed is 0 in use, none freed is all in use");
}

/* Many stacks with one sampled block of the same size are the worst case of rounding to the nearest. */
static void test_rounding_of_like(void) {
    struct tally tally = {0};
    tally_add(&tally, 5000, 1, 1, 4096, NULL);
    double weight = sample_weight(5000, 4096);
    int64_t sum = 0;
    for (uint64_t which = 0; which < 10000; which++) {
        int64_t v[4];
        tally_values(&tally, 4096, which, v);
        sum += v[0];
    }
    ok(fabs((double)sum - 10000 * weight) < 10, "10,000 stacks of weight %.3f are %" PRId64 " blocks", weight, sum);
}

static void test_saturation(void) {
    struct tally tally = {0};
    int64_t v[4];
    tally_add(&tally, UINT64_MAX, UINT64_MAX, UINT64_MAX / 2, 4096, NULL);
    tally_values(&tally, 4096, 1, v);
    ok(v[1] == INT64_MAX && v[3] == INT64_MAX && v[2] <= v[0], "estimates are held at 2^63 - 1");
    is(error_permille(0, 0), 0, "no estimate, no error");
    is(error_permille(9, 0), 1000, "no estimate of what is there: 100 %%");
    is(error_permille(4, 100), 20, "2 % are 20 per mille");
    is(error_permille(INFINITY, 1), 1000000000000000, "an error has a limit");
}

static void test_missing(void) {
    struct tally tally = {0};
    struct estimate_total total = {0};
    tally_add(&tally, 10 << 20, 1, 1, 4096, &total);
    is(error_permille(total.space_var, total.space), 0, "a large block is sampled for sure");
    struct estimate_total more = total;
    estimate_add_missing(&more, 10 << 20, 1, 4096);
    is(error_permille(more.objects_var, more.objects), 0, "where nothing is missing nothing is added");
    estimate_add_missing(&more, (10 << 20) + 1600, 101, 4096);
    ok(fabs(more.objects_var - 4096.0 * 100 * 100 / 1600) < 1, "100 blocks of 16 bytes that were not sampled");
    ok(fabs(more.space_var - 4096.0 * 1600) < 1, "and their bytes");
    more = total;
    estimate_add_missing(&more, 1 << 20, 101, 4096);
    ok(fabs(more.objects_var - 100 * 100) < 1e-6 && more.space_var == total.space_var,
       "blocks are missing, bytes are not: as much as is seen");
    more = total;
    estimate_add_missing(&more, 0, 0, 4096);
    ok(more.objects_var == total.objects_var && more.space_var == total.space_var, "more was estimated than there is");
}

int main(void) {
    test_classes();
    test_weights();
    test_unbiased();
    test_rounding();
    test_rounding_of_like();
    test_saturation();
    test_missing();
    return tap_done();
}
