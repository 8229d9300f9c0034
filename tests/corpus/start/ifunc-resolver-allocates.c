/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: start-up recursion / allocation before the interposer's constructor (IFUNC resolver)
 * Symptom: malloc is called while the program is still being relocated, before any constructor
 * Right: exit 0, stdout "ok": the resolver of an indirect function allocates, and main frees what it got.
 *
 * BUILD $CC -Wl,-z,lazy $SRC -o $BIN
 * EXPECT func after_start 10 1000 0 0
 */
#include "tests/corpus/case.h"

#include <stdlib.h>
#include <string.h>

static char *early[8];

static int seven(void) {
    return 7;
}

__attribute__((used)) static void *resolve_chosen(void) {
    for (int i = 0; i < 8; i++) {
        early[i] = malloc(100 + (size_t)i);
        if (early[i])
            memset(early[i], 'e', 100);
    }
    return (void *)seven;
}

int chosen(void) __attribute__((ifunc("resolve_chosen")));

NOINLINE static void *after_start(void) {
    void *p = malloc(100);
    KEEP(p);
    return p;
}

int main(void) {
    if (chosen() != 7)
        return 1;
    for (int i = 0; i < 8; i++) {
        if (!early[i] || early[i][99] != 'e')
            return 2;
        free(early[i]);
    }
    for (int i = 0; i < 10; i++)
        free(after_start());
    return say_ok();
}
