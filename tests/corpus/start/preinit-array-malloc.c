/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: start-up recursion / allocation before the interposer's constructor
 * Report: https://github.com/zardus/preeny/issues/59
 * Symptom: malloc arrives before the hook's own constructor ran; the saved "real malloc" pointer is still NULL
 * Right: exit 0, stdout "ok". DT_PREINIT_ARRAY of the executable runs before every constructor of every library but one
 *     marked as the first (-z initfirst), which the profiler is. Blocks made there are freed in main, and all are
 *     counted.
 *
 * EXPECT timeout 5
 * EXPECT func late_alloc 10 1000 0 0
 * EXPECT func early_alloc 20 3000 0 0
 */
#include "tests/corpus/case.h"

#include <stdlib.h>
#include <string.h>

static char *blk[20];

NOINLINE static void early_alloc(void) {
    for (int i = 0; i < 10; i++) {
        char *p = malloc(100);
        KEEP(p);
        memset(p, 'x', 100);
        blk[i] = p;
    }
    for (int i = 10; i < 20; i++) {
        char *p = calloc(2, 100);
        KEEP(p);
        blk[i] = p;
    }
}

__attribute__((section(".preinit_array"), used)) static void (*pre)(void) = early_alloc;

NOINLINE static char *late_alloc(void) {
    char *p = malloc(100);
    KEEP(p);
    return p;
}

int main(void) {
    for (int i = 0; i < 10; i++)
        if (blk[i][99] != 'x')
            return 1;
    for (int i = 10; i < 20; i++)
        for (int j = 0; j < 200; j++)
            if (blk[i][j])
                return 2;
    for (int i = 0; i < 20; i++)
        free(blk[i]);
    for (int i = 0; i < 10; i++)
        free(late_alloc());
    return say_ok();
}
