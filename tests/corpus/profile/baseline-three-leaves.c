/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: profile attribution (frames of the profiler itself shown instead of the program's)
 * Report: https://github.com/jemalloc/jemalloc/issues/507
 * Symptom: every byte of the profile is charged to the profiler's own backtrace function
 * Right: exit 0, stdout "ok". Leaf user frames are leaf_a/leaf_b/leaf_c under mid under main. No sample's stack starts
 *     in (or holds) a function of the profiler library itself.
 *
 * EXPECT timeout 5
 * EXPECT func leaf_a 1000 100000 0 0
 * EXPECT func leaf_b 500 128000 500 128000
 * EXPECT func leaf_c 10 655360 5 327680
 * EXPECT under mid 1510 883360 505 455680
 * EXPECT stack leaf_b<-mid<-main
 */
#include "tests/corpus/case.h"

#include <stdlib.h>
#include <unistd.h>

static void *kept[1000];

NOINLINE static void *leaf_a(void) {
    void *p = malloc(100);
    KEEP(p);
    return p;
}

NOINLINE static void *leaf_b(void) {
    void *p = calloc(16, 16);
    KEEP(p);
    return p;
}

NOINLINE static void *leaf_c(void) {
    void *p = realloc(NULL, 65536);
    KEEP(p);
    return p;
}

NOINLINE static int mid(void) {
    int n = 0;
    for (int i = 0; i < 1000; i++)
        free(leaf_a());
    for (int i = 0; i < 500; i++)
        kept[n++] = leaf_b();
    for (int i = 0; i < 10; i++) {
        void *p = leaf_c();
        if (i & 1)
            kept[n++] = p;
        else
            free(p);
    }
    return n;
}

int main(void) {
    int n = mid();
    KEEP(n);
    if (write(1, "ok\n", 3) != 3)
        return 2;
    return n == 505 ? 0 : 1;
}
