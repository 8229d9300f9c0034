/* SPDX-License-Identifier: Apache-2.0 */
/* The sampler against the mathematics in its header. Bounds are at five standard deviations, or where the chance of a
 * false alarm is as small: about one in a million runs for each check. */
#include <math.h>
#include <stdlib.h>

#include "preload/record/sampler.h"
#include "tests/unit/record_helpers.h"
#include "tests/unit/tap.h"

#define SIGMAS 5.0
#define UNIT 4294967296.0 /* of sampler_exponential */

static uint64_t seed;

static void within(double got, double want, double sigma, const char *what) {
    ok(fabs(got - want) <= SIGMAS * sigma, "%s: %.6g is %.6g, %+.1f sigma", what, got, want, (got - want) / sigma);
}

static void test_generator(void) {
    /* Published for SplitMix64 with this seed. */
    static const uint64_t want[] = {6457827717110365317u, 3203168211198807973u, 9817491932198370423u,
                                    4593380528125082431u, 16408922859458223821u};
    uint64_t state = 1234567;
    int same = 1;
    for (int i = 0; i < 5; i++)
        same &= sampler_random(&state) == want[i];
    ok(same, "the generator is SplitMix64");
}

static void test_logarithm(void) {
    uint64_t state = seed;
    double worst = 0;
    int falling = 1;
    is(sampler_exponential(UINT64_MAX), 0, "u = 1 gives 0");
    within((double)sampler_exponential(0) / UNIT, 64 * log(2), 1e-9, "u = 2^-64");
    for (unsigned bit = 0; bit < 64; bit++)
        for (int d = -2; d <= 1; d++) {
            uint64_t bits = (1ull << bit) + (uint64_t)d;
            long double want = -(logl((long double)bits + 1) - 64 * logl(2));
            double off =
                fabs((double)((long double)sampler_exponential(bits) / UNIT - (bits == UINT64_MAX ? 0 : want)));
            worst = off > worst ? off : worst;
        }
    for (int i = 0; i < 200000; i++) {
        uint64_t bits = sampler_random(&state);
        long double want = -(logl((long double)bits + 1) - 64 * logl(2));
        double off = fabs((double)((long double)sampler_exponential(bits) / UNIT - want));
        worst = off > worst ? off : worst;
        if (bits < UINT64_MAX - 1000)
            falling &= sampler_exponential(bits) >= sampler_exponential(bits + 1000);
    }
    ok(worst <= 1.01 / UNIT, "-ln(u) is exact to 2^-32: off by %.3f units at most", worst * UNIT);
    ok(falling, "and falls as u rises");
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void test_distribution(void) {
    enum { N = 1000000 };
    static double x[N];
    uint64_t state = seed;
    double sum = 0, squares = 0, product = 0, distance = 0;
    for (int i = 0; i < N; i++)
        sum += x[i] = (double)sampler_exponential(sampler_random(&state)) / UNIT;
    double mean = sum / N;
    for (int i = 0; i < N; i++) {
        squares += (x[i] - mean) * (x[i] - mean);
        if (i)
            product += (x[i] - 1) * (x[i - 1] - 1);
    }
    within(mean, 1, 1 / sqrt(N), "mean");
    within(squares / (N - 1), 1, sqrt(8.0 / N), "variance");
    within(product / (N - 1), 0, 1 / sqrt(N), "covariance of neighbours");
    static const double quantile[] = {0.0001, 0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 0.9999};
    for (unsigned q = 0; q < sizeof quantile / sizeof *quantile; q++) {
        double limit = -log1p(-quantile[q]), p = quantile[q];
        int below = 0;
        for (int i = 0; i < N; i++)
            below += x[i] < limit;
        char what[64];
        snprintf(what, sizeof what, "share below the quantile %g", p);
        within((double)below / N, p, sqrt(p * (1 - p) / N), what);
    }
    qsort(x, N, sizeof *x, by_value);
    for (int i = 0; i < N; i++) {
        double f = -expm1(-x[i]);
        distance = fmax(distance, fmax(fabs(f - (double)i / N), fabs(f - (double)(i + 1) / N)));
    }
    /* Kolmogorov: the chance of more than 2.6 / sqrt(N) is 2 exp(-2 * 2.6^2) = 3e-6. */
    ok(distance * sqrt(N) < 2.6, "distance to the distribution function: %.2f / sqrt(N)", distance * sqrt(N));
}

/* What the hooks do with the countdown. */
static int allocate(int64_t *countdown, uint64_t rate, uint64_t *state, uint64_t n) {
    *countdown -= (int64_t)n;
    if (*countdown >= 0)
        return 0;
    *countdown = sampler_draw(rate, state);
    return 1;
}

static void test_chance(uint64_t rate, uint64_t n, unsigned calls) {
    uint64_t state = seed ^ n;
    int64_t countdown = sampler_draw(rate, &state);
    unsigned sampled = 0;
    for (unsigned i = 0; i < calls; i++)
        sampled += (unsigned)allocate(&countdown, rate, &state, n);
    double p = -expm1(-(double)n / (double)rate);
    char what[80];
    snprintf(what, sizeof what, "chance of %lu bytes at rate %lu", (unsigned long)n, (unsigned long)rate);
    within((double)sampled / calls, p, sqrt(p * (1 - p) / calls), what);
}

/* Blocks of all sizes in turn: each keeps its own chance, and bytes and calls are estimated without bias. */
static void test_mixture(void) {
    static const uint64_t size[] = {1, 24, 300, 5000, 70000, 1000000};
    enum { SIZES = sizeof size / sizeof *size, ROUNDS = 300000 };
    const uint64_t rate = 8192;
    uint64_t state = seed, sampled[SIZES] = {0};
    int64_t countdown = sampler_draw(rate, &state);
    double truth = 0, estimate = 0, variance = 0;
    for (unsigned i = 0; i < ROUNDS * SIZES; i++) {
        unsigned s = (unsigned)(test_random(&state) % SIZES);
        truth += (double)size[s];
        double p = -expm1(-(double)size[s] / (double)rate);
        variance += (double)size[s] * (double)size[s] * (1 - p) / p;
        if (allocate(&countdown, rate, &state, size[s])) {
            estimate += (double)size[s] / p;
            sampled[s]++;
        }
    }
    within(estimate, truth, sqrt(variance), "bytes estimated from a mixture of sizes");
    for (unsigned s = 0; s < SIZES; s++) {
        double p = -expm1(-(double)size[s] / (double)rate), mean = ROUNDS * p;
        char what[64];
        snprintf(what, sizeof what, "samples of %lu bytes among the others", (unsigned long)size[s]);
        /* The number of blocks of the size is random too. */
        within((double)sampled[s], mean, sqrt(ROUNDS * p * (1 - p / SIZES)), what);
    }
}

static void test_rates(void) {
    enum { N = 300000 };
    static const uint64_t rate[] = {1, 2, 100, 524288, 1ull << 30, SAMPLER_MAX_RATE};
    for (unsigned r = 0; r < sizeof rate / sizeof *rate; r++) {
        uint64_t state = seed + r;
        double sum = 0, most = 0;
        int negative = 0;
        for (int i = 0; i < N; i++) {
            int64_t draw = sampler_draw(rate[r], &state);
            sum += (double)draw;
            most = fmax(most, (double)draw);
            negative |= draw < 0;
        }
        /* The distance is rounded down: the mean of floor(X) is 1 / (exp(1 / rate) - 1). */
        char what[64];
        snprintf(what, sizeof what, "mean distance at rate %lu", (unsigned long)rate[r]);
        within(sum / N, 1 / expm1(1 / (double)rate[r]), (double)rate[r] / sqrt(N), what);
        ok(!negative && most < 45.0 * (double)rate[r] + 1, "and none is negative, or longer than 64 ln 2 rates");
    }
}

int main(void) {
    seed = test_seed();
    test_generator();
    test_logarithm();
    test_distribution();
    test_chance(8192, 1, 4000000);
    test_chance(8192, 64, 3000000);
    test_chance(8192, 4096, 500000);
    test_chance(8192, 8192, 500000);
    test_chance(8192, 65536, 500000);
    test_chance(524288, 65536, 500000);
    test_chance(2, 1, 500000);
    test_mixture();
    test_rates();
    return tap_done();
}
