/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: negative inuse (size recorded at free is not the size recorded at malloc)
 * Report: https://github.com/influxdata/influxdb_iox/pull/2322
 * Symptom: requested bytes are added, usable bytes are taken away: memory in use goes below zero
 * Right: exit 0, stdout "ok". 1..3000 bytes by malloc, calloc, realloc, memalign; all freed in another order, by
 *     another function. In use 0 for each, alloc = sum of what was asked for (4501500 each).
 *
 * EXPECT timeout 5
 * EXPECT func odd_malloc 3000 4501500 0 0
 * EXPECT func odd_calloc 3000 4501500 0 0
 * EXPECT func odd_realloc 3000 4501500 0 0
 * EXPECT func odd_memalign 3000 4501500 0 0
 */
#include "tests/corpus/case.h"

#include <malloc.h>
#include <stdlib.h>

static void *b[4][3001];

NOINLINE static void *odd_malloc(size_t n) {
    void *p = malloc(n);
    KEEP(p);
    return p;
}

NOINLINE static void *odd_calloc(size_t n) {
    void *p = calloc(n, 1);
    KEEP(p);
    return p;
}

NOINLINE static void *odd_realloc(size_t n) {
    void *p = realloc(NULL, n);
    KEEP(p);
    return p;
}

NOINLINE static void *odd_memalign(size_t n) {
    void *p = memalign(32, n);
    KEEP(p);
    return p;
}

NOINLINE static void others_free(int i) {
    for (int k = 3; k >= 0; k--)
        free(b[k][i]);
}

int main(void) {
    for (int i = 1; i <= 3000; i++) {
        b[0][i] = odd_malloc(i);
        b[1][i] = odd_calloc(i);
        b[2][i] = odd_realloc(i);
        b[3][i] = odd_memalign(i);
    }
    for (int i = 3000; i >= 1; i -= 2)
        others_free(i);
    for (int i = 1; i <= 3000; i += 2)
        others_free(i);
    return say_ok();
}
