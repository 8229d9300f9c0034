/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: malloc(0)
 * Report: https://github.com/AuburnSounds/Dplug/issues/169
 * Symptom: zero-size requests are handled apart from the rest; blocks are leaked or NULL comes back
 * Right: exit 0, stdout "ok". malloc(0), aligned_alloc(64, 0), posix_memalign(.., 64, 0), memalign(64, 0) each give
 *     distinct non-NULL blocks, counted as objects of 0 bytes: space 0, objects exact, a stack with objects but no
 *     bytes is not dropped from the profile.
 *
 * EXPECT timeout 5
 * EXPECT func zero_malloc 1000 0 500 0
 * EXPECT func zero_aligned 300 0 0 0
 */
#include "tests/corpus/case.h"

#include <malloc.h>
#include <stdlib.h>

static void *b[1000];
static volatile size_t z;

NOINLINE static void *zero_malloc(void) {
    void *p = malloc(z);
    KEEP(p);
    return p;
}

NOINLINE static int zero_aligned(void) {
    void *p = aligned_alloc(64, z), *q = NULL, *r = memalign(64, z);
    if (posix_memalign(&q, 64, z))
        return 1;
    KEEP(p);
    KEEP(q);
    KEEP(r);
    if (!p || !q || !r || p == q || q == r || p == r)
        return 1;
    free(p);
    free(q);
    free(r);
    return 0;
}

int main(void) {
    for (int i = 0; i < 1000; i++) {
        b[i] = zero_malloc();
        if (!b[i] || (i && b[i] == b[i - 1]))
            return 1;
    }
    for (int i = 0; i < 100; i++)
        if (zero_aligned())
            return 2;
    for (int i = 0; i < 1000; i += 2)
        free(b[i]);
    return say_ok();
}
