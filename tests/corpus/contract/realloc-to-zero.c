/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: realloc edge cases: realloc(p, 0)
 * Report: https://github.com/DataDog/dd-trace-py/pull/17013
 * Symptom: realloc(p, 0), which frees in glibc, is taken for a failure: the block stays recorded as in use for ever
 * Right: exit 0, stdout "ok". realloc(p, 0) returns NULL and frees p (glibc 2.36): inuse 0. realloc(NULL, 0) returns a
 *     freeable block: one object of 0 bytes. A block served again at a freed address is counted anew.
 *
 * EXPECT timeout 5
 * EXPECT func to_zero 1000 100000 0 0
 * EXPECT func from_null 100 0 0 0
 */
#include "tests/corpus/case.h"

#include <stdlib.h>

NOINLINE static int to_zero(void) {
    void *p = malloc(100);
    KEEP(p);
    volatile size_t z = 0;
    void *q = realloc(p, z);
    KEEP(q);
    return q != NULL;
}

NOINLINE static int from_null(void) {
    volatile size_t z = 0;
    void *q = realloc(NULL, z);
    KEEP(q);
    if (!q)
        return 1;
    free(q);
    return 0;
}

int main(void) {
    for (int i = 0; i < 1000; i++)
        if (to_zero())
            return 1;
    for (int i = 0; i < 100; i++)
        if (from_null())
            return 2;
    return say_ok();
}
