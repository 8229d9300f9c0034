/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: realloc edge cases: accounting (leaks reported as false positives)
 * Report: https://github.com/jemalloc/jemalloc/issues/499
 * Symptom: malloc, realloc, free in a row is reported as a leak of the first size
 * Right: exit 0, stdout "ok". A resized block belongs to the stack of the last realloc: first 0 in use, grown/shrunk
 *     own it. Every realloc (moved or in place, growing or shrinking) is a free of the old size and an allocation of
 *     the new one.
 *
 * EXPECT timeout 5
 * EXPECT func first 400 409600 0 0
 * EXPECT func grown 200 409600 100 204800
 * EXPECT func shrunk 200 20000 0 0
 */
#include "tests/corpus/case.h"

#include <stdlib.h>
#include <string.h>

NOINLINE static char *first(void) {
    char *p = malloc(1024);
    KEEP(p);
    return p;
}

NOINLINE static char *grown(char *p) {
    char *q = realloc(p, 2048);
    KEEP(q);
    return q;
}

NOINLINE static char *shrunk(char *p) {
    char *q = realloc(p, 100);
    KEEP(q);
    return q;
}

static char *keep[100];

int main(void) {
    for (int i = 0; i < 200; i++) {
        char *p = first();
        memset(p, i, 1024);
        p = grown(p);
        for (int j = 0; j < 1024; j++)
            if (p[j] != (char)i)
                return 1;
        if (i < 100)
            keep[i] = p;
        else
            free(p);
    }
    for (int i = 0; i < 200; i++) {
        char *p = first();
        memset(p, i, 1024);
        p = shrunk(p);
        if (p[99] != (char)i)
            return 2;
        free(p);
    }
    return say_ok();
}
