/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: stack unwinding of code built without unwind tables and frame pointers
 * Report: https://github.com/gperftools/gperftools/issues/410
 * Symptom: "hooked allocator frame not found, returning empty trace": the sample has no stack, all work is lost
 * Right: exit 0, stdout "ok". The whole program has no unwind info, so no unwinder can leave the first frame. The
 *     return address of the hook itself is still known: each sample has at least that frame (bare_a, bare_b); samples
 *     of different functions are not merged into one without a stack.
 *
 * BUILD $CC -fomit-frame-pointer -fno-asynchronous-unwind-tables -fno-unwind-tables $SRC -o $BIN
 * EXPECT timeout 5
 * EXPECT func bare_a 100 10000 100 10000
 * EXPECT func bare_b 200 40000 0 0
 */
#include "tests/corpus/case.h"

#include <stdlib.h>

static void *keep[100];

NOINLINE static void *bare_a(void) {
    void *p = malloc(100);
    KEEP(p);
    return p;
}

NOINLINE static void *bare_b(void) {
    void *p = malloc(200);
    KEEP(p);
    return p;
}

int main(void) {
    for (int i = 0; i < 100; i++)
        keep[i] = bare_a();
    for (int i = 0; i < 200; i++)
        free(bare_b());
    return say_ok();
}
