/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: calloc overflow
 * Report: https://github.com/DynamoRIO/drmemory/issues/1272
 * Symptom: a replacement calloc multiplies without a check and hands out a block that is far too small
 * Right: exit 0, stdout "ok". Overflowing products give NULL and ENOMEM and are not counted (neither as an allocation
 *     of the wrapped size). calloc(n, 0) and calloc(0, n) give distinct freeable blocks of 0 bytes.
 *
 * EXPECT timeout 5
 * EXPECT unseen over
 * EXPECT func nothing 200 0 0 0
 * EXPECT func fine 100 80000 0 0
 */
#include "tests/corpus/case.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

NOINLINE static int over(size_t n, size_t s) {
    errno = 0;
    void *p = calloc(n, s);
    KEEP(p);
    return p || errno != ENOMEM;
}

NOINLINE static int nothing(void) {
    volatile size_t z = 0, k = 8;
    void *p = calloc(z, k), *q = calloc(k, z);
    KEEP(p);
    KEEP(q);
    if (!p || !q || p == q)
        return 1;
    free(p);
    free(q);
    return 0;
}

NOINLINE static int fine(void) {
    char *p = calloc(8, 100);
    KEEP(p);
    for (int i = 0; i < 800; i++)
        if (p[i])
            return 1;
    for (int i = 0; i < 800; i++)
        p[i] = (char)i;
    free(p);
    return 0;
}

int main(void) {
    for (int i = 0; i < 100; i++) {
        if (over(SIZE_MAX / 2 + 1, 2) || over(SIZE_MAX, SIZE_MAX) || over(((size_t)1 << 32) + 1, (size_t)1 << 32) ||
            over(SIZE_MAX / 16 + 2, 16))
            return 1;
        if (nothing())
            return 2;
        if (fine())
            return 3;
    }
    return say_ok();
}
