/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: exit paths (_exit)
 * Report: https://github.com/gperftools/gperftools/issues/1404
 * Symptom: programs that leave other than by returning from main leave no profile behind
 * Right: exit status 7, stdout "ok", at once, and a whole profile: _exit ends the process as much as exit does.
 *
 * EXPECT exit 7
 * EXPECT timeout 5
 * EXPECT func leaf_exit 1000 100000 1000 100000
 */
#include "tests/corpus/case.h"

#include <stdlib.h>
#include <unistd.h>

static void *keep[1000];

NOINLINE static void *leaf_exit(void) {
    void *p = malloc(100);
    KEEP(p);
    return p;
}

int main(void) {
    for (int i = 0; i < 1000; i++)
        keep[i] = leaf_exit();
    if (write(1, "ok\n", 3) != 3)
        return 1;
    _exit(keep[999] ? 7 : 8);
}
