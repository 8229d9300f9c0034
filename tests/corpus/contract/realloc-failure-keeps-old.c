/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: realloc edge cases: failure keeps the old block
 * Report: https://github.com/microsoft/snmalloc/issues/461
 * Symptom: a failing realloc leaves errno wrong; hooks that untrack first lose the block that is still there
 * Right: exit 0, stdout "ok". realloc(p, SIZE_MAX/2), realloc(p, 2^62) and reallocarray overflow return NULL with errno
 *     ENOMEM; p keeps address and contents and stays in the profile at its old stack and size (100 x 1000 in use) until
 *     it is freed. Nothing is counted for grow_fail.
 *
 * EXPECT timeout 5
 * EXPECT func hold 200 200000 100 100000
 * EXPECT unseen grow_fail
 */
#include "tests/corpus/case.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static unsigned char *b[200];

NOINLINE static unsigned char *hold(void) {
    unsigned char *p = malloc(1000);
    KEEP(p);
    return p;
}

NOINLINE static int grow_fail(unsigned char *p) {
    volatile size_t n[2] = {SIZE_MAX / 2, (size_t)1 << 62};
    for (int i = 0; i < 2; i++) {
        errno = 0;
        void *q = realloc(p, n[i]);
        KEEP(q);
        if (q || errno != ENOMEM)
            return 1;
    }
    errno = 0;
    void *q = reallocarray(p, n[1], 16);
    KEEP(q);
    return q || errno != ENOMEM;
}

int main(void) {
    for (int i = 0; i < 200; i++) {
        b[i] = hold();
        memset(b[i], i, 1000);
    }
    for (int i = 0; i < 200; i++)
        if (grow_fail(b[i]))
            return 1;
    for (int i = 0; i < 200; i++)
        for (int j = 0; j < 1000; j++)
            if (b[i][j] != (unsigned char)i)
                return 2;
    for (int i = 0; i < 100; i++)
        free(b[i]);
    return say_ok();
}
