/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: exit paths (quick_exit)
 * Report: https://github.com/jemalloc/jemalloc/issues/1007
 * Symptom: what a tool prints or writes from atexit never appears when the process ends another way
 * Right: exit status 9, stdout "ok", and a whole profile: at_quick_exit handlers run in reverse order and allocate;
 *     atexit handlers do not run.
 *
 * EXPECT exit 9
 * EXPECT timeout 5
 * EXPECT func quick_leaf 200 20000 100 10000
 */
#include "tests/corpus/case.h"

#include <stdlib.h>
#include <unistd.h>

static void *keep[100];
static int seen;

NOINLINE static void *quick_leaf(void) {
    void *p = malloc(100);
    KEEP(p);
    return p;
}

static void second(void) {
    if (seen != 1)
        _exit(1);
    (void)!write(1, "ok\n", 3);
}

static void first(void) {
    for (int i = 0; i < 100; i++)
        free(quick_leaf());
    seen = 1;
}

static void never(void) {
    _exit(2);
}

int main(void) {
    atexit(never);
    at_quick_exit(second);
    at_quick_exit(first);
    for (int i = 0; i < 100; i++)
        keep[i] = quick_leaf();
    quick_exit(keep[99] ? 9 : 3);
}
