/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: 32-bit values overflow (sizes)
 * Report: https://github.com/timpalpant/mprofile/issues/2
 * Symptom: traces with sizes above 2 GiB show up as negative amounts
 * Right: exit 0, stdout "ok" (77 = skipped if the machine refuses 5 GiB of untouched memory). Three blocks of 5 GiB + 7
 *     and one calloc of 3 x 2^31; realloc 1 GiB to 6 GiB.
 *
 * EXPECT timeout 10
 * EXPECT func five_gib 3 16106127381 1 5368709127
 * EXPECT func big_calloc 1 6442450944 0 0
 * EXPECT func big_realloc 1 6442450944 0 0
 */
#include "tests/corpus/case.h"

#include <stdlib.h>

NOINLINE static void *five_gib(void) {
    volatile size_t n = (5ul << 30) + 7;
    void *p = malloc(n);
    KEEP(p);
    return p;
}

NOINLINE static void *big_calloc(void) {
    volatile size_t a = 3, b = 1ul << 31;
    void *p = calloc(a, b);
    KEEP(p);
    return p;
}

NOINLINE static void *big_realloc(void *o) {
    volatile size_t n = 6ul << 30;
    void *p = realloc(o, n);
    KEEP(p);
    return p;
}

int main(void) {
    for (int i = 0; i < 3; i++) {
        void *p = five_gib();
        if (!p)
            return 77;
        if (i < 2)
            free(p);
    }
    void *c = big_calloc();
    if (!c)
        return 77;
    free(c);
    volatile size_t one = 1ul << 30;
    void *r = malloc(one);
    KEEP(r);
    if (!r)
        return 77;
    r = big_realloc(r);
    if (!r)
        return 77;
    free(r);
    return say_ok();
}
