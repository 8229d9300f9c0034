/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: huge profiles / slow exit with many stacks
 * Report: https://github.com/google/pprof/issues/680
 * Symptom: writing or loading a profile with very many stacks takes minutes
 * Right: exit 0, stdout "ok". 131072 different stacks of 20 frames out of only two functions: locations and functions
 *     are shared, the file is written in a second or two, and all stacks are there.
 *
 * EXPECT timeout 40
 * EXPECT func many_leaf 131072 4194304 131072 4194304
 */
#include "tests/corpus/case.h"

#include <stdlib.h>

NOINLINE static void *many_leaf(void) {
    void *p = malloc(32);
    KEEP(p);
    return p;
}

NOINLINE static void *b1(unsigned b, int d);

NOINLINE static void *b0(unsigned b, int d) {
    void *p = d ? (b & 1 ? b1(b >> 1, d - 1) : b0(b >> 1, d - 1)) : many_leaf();
    KEEP(p);
    return p;
}

NOINLINE static void *b1(unsigned b, int d) {
    void *p = d ? (b & 1 ? b1(b >> 1, d - 1) : b0(b >> 1, d - 1)) : many_leaf();
    KEEP(p);
    return p;
}

int main(void) {
    for (unsigned i = 0; i < 131072; i++)
        if (!b0(i, 17))
            return 1;
    return say_ok();
}
