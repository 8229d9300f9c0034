/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: profile counts wrong (sampling bias, unbiasing after summing)
 * Report: https://github.com/jemalloc/jemalloc/pull/1897
 * Symptom: one stack that asks for many different sizes gets wrong totals: sums are unbiased with their average size
 * Right: exit 0, stdout "ok". One call site: 4000000 x 128 B and 1000 x 1 MiB, all kept until the end of the loop, then
 *     freed. Truth 4001000 objects, 1560576000 bytes. Each sample must be weighted by its own size (several sample
 *     entries per stack, or sums of weighted values): within 5 standard deviations. Summing first gives nearly the
 *     right bytes but some 3000 objects instead of 4 million.
 *
 * EXPECT timeout 120
 * EXPECT func mixed_site 4001000 1560576000 0 0
 * EXPECT sampled mixed_site 3350000..4650000 1430000000..1690000000 0 0
 */
#include "tests/corpus/case.h"

#include <stdlib.h>

NOINLINE static void *mixed_site(size_t n) {
    void *p = malloc(n);
    KEEP(p);
    return p;
}

static void *small[4000], *big[1000];

int main(void) {
    for (int r = 0; r < 1000; r++) {
        for (int i = 0; i < 4000; i++) {
            size_t n = 128;
            KEEP(n);
            small[i] = mixed_site(n);
        }
        size_t n = 1 << 20;
        KEEP(n);
        big[r] = mixed_site(n);
        for (int i = 0; i < 4000; i++)
            free(small[i]);
    }
    for (int r = 0; r < 1000; r++)
        free(big[r]);
    return say_ok();
}
