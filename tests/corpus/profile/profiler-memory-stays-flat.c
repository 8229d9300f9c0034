/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: memory growth of the profiler itself
 * Report: https://github.com/koute/bytehound/issues/18
 * Symptom: the tool keeps something for every allocation ever made; a long run needs gigabytes
 * Right: exit 0, stdout "ok". 20 million malloc/free pairs with at most 64 live blocks, from 16 stacks, growing
 *     addresses (so that freed addresses do not simply repeat). The program checks its own resident size: it must grow
 *     by less than 64 MiB between the first and the last million.
 *
 * EXPECT timeout 240
 * EXPECT func flat_leaf 20000000 * 0 0
 */
#include "tests/corpus/case.h"

#include <stdio.h>
#include <stdlib.h>

static long rss(void) {
    long v = 0, r = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (!f || fscanf(f, "%ld %ld", &v, &r) != 2)
        exit(9);
    fclose(f);
    return r * 4096;
}

NOINLINE static void *flat_leaf(int d, size_t n) {
    void *p = d ? flat_leaf(d - 1, n) : malloc(n);
    KEEP(p);
    return p;
}

static void *ring[64];

int main(void) {
    long first = 0;
    for (long i = 0; i < 20000000; i++) {
        if (i == 1000000)
            first = rss();
        void **s = &ring[i * 7 & 63];
        free(*s);
        *s = flat_leaf(i & 15, 16 + (i * 37 & 1023));
    }
    if (rss() - first > 64l << 20)
        return 1;
    for (int i = 0; i < 64; i++)
        free(ring[i]);
    return say_ok();
}
