/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: realloc edge cases (blocks that are moved by mremap)
 * Symptom: a block of its own mapping moves within realloc: the old address is unmapped, and a tool that looks there
 *     again faults or leaks
 * Right: exit 0, stdout "ok": blocks grow from 1 MiB to 128 MiB and shrink again, step by step; contents stay, each
 *     step is a free and an allocation.
 *
 * EXPECT func step_up 70 2663383040 0 0
 * EXPECT func step_down 70 1331691520 0 0
 */
#include "tests/corpus/case.h"

#include <stdlib.h>

#define MIB (1ul << 20)

NOINLINE static char *step_up(char *p, size_t n) {
    char *q = realloc(p, n);
    KEEP(q);
    return q;
}

NOINLINE static char *step_down(char *p, size_t n) {
    char *q = realloc(p, n);
    KEEP(q);
    return q;
}

int main(void) {
    for (int round = 0; round < 10; round++) {
        char *p = malloc(MIB);
        if (!p)
            return 77;
        p[0] = 'a';
        for (size_t n = 2; n <= 128; n *= 2) {
            p[n / 2 * MIB - 1] = 'z';
            if (!(p = step_up(p, n * MIB)))
                return 77;
            if (p[0] != 'a' || p[n / 2 * MIB - 1] != 'z' || p[n * MIB - 1])
                return 1;
        }
        for (size_t n = 64; n >= 1; n /= 2) {
            if (!(p = step_down(p, n * MIB)) || p[0] != 'a')
                return 2;
        }
        free(p);
    }
    return say_ok();
}
