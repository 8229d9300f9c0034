/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: malloc_usable_size use
 * Report: https://github.com/systemd/systemd/issues/25240
 * Symptom: malloc_usable_size answers for another allocator's block than the one that made it: crash or corruption
 * Right: exit 0, stdout "ok". The program fills every block up to malloc_usable_size and checks it later, as systemd
 *     does; no record the profiler may keep next to a block is hit, and the profiler's counts use the requested sizes
 *     (sum of 1..2000 = 2001000), not the usable ones.
 *
 * BUILD $CC -U_FORTIFY_SOURCE $SRC -o $BIN
 * EXPECT timeout 10
 * EXPECT func fill_all 2000 2001000 1000 1000000
 */
#include "tests/corpus/case.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

static unsigned char *b[2000];
static size_t u[2000];

NOINLINE static unsigned char *fill_all(size_t n) {
    unsigned char *p = malloc(n);
    KEEP(p);
    return p;
}

int main(void) {
    for (int i = 0; i < 2000; i++) {
        b[i] = fill_all(i + 1);
        u[i] = malloc_usable_size(b[i]);
        if (u[i] < (size_t)i + 1)
            return 1;
        memset(b[i], i * 7, u[i]);
    }
    for (int i = 0; i < 2000; i++) {
        if (malloc_usable_size(b[i]) != u[i])
            return 2;
        for (size_t j = 0; j < u[i]; j++)
            if (b[i][j] != (unsigned char)(i * 7))
                return 3;
    }
    for (int i = 1; i < 2000; i += 2)
        free(b[i]);
    if (malloc_usable_size(NULL) != 0)
        return 4;
    return say_ok();
}
