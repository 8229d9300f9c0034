/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: realloc edge cases: reallocarray
 * Report: https://github.com/systemd/systemd/issues/20931
 * Symptom: reallocarray (or a helper on top of it) is not part of the replaced family: blocks cross between allocators
 * Right: exit 0, stdout "ok". reallocarray grows a table 10 -> 1280 elements of 24 bytes, is refused on overflow (old
 *     table intact, ENOMEM), and frees with (p, 0, 24). glibc's reallocarray calls realloc inside: each step is counted
 *     once, not twice.
 *
 * EXPECT timeout 5
 * EXPECT func table_step 800 6120000 0 0
 */
#include "tests/corpus/case.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

struct e {
    long a, b, c;
};

NOINLINE static struct e *table_step(struct e *t, size_t n) {
    struct e *q = reallocarray(t, n, sizeof *t);
    KEEP(q);
    return q;
}

int main(void) {
    for (int r = 0; r < 100; r++) {
        struct e *t = NULL;
        for (size_t n = 10; n <= 1280; n *= 2) {
            t = table_step(t, n);
            if (!t || (n > 10 && t[n / 2 - 1].c != (long)(n / 2)))
                return 1;
            t[n - 1].c = (long)n;
        }
        volatile size_t over = SIZE_MAX / 24 + 2, zero = 0;
        errno = 0;
        if (table_step(t, over) || errno != ENOMEM || t[1279].c != 1280)
            return 2;
        t = reallocarray(t, zero, 24);
        KEEP(t);
        if (t)
            return 3;
    }
    return say_ok();
}
