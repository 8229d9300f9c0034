/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: program linked with jemalloc (non-standard entry points mixed with free)
 * Report: https://github.com/async-profiler/async-profiler/pull/1135
 * Symptom: the "real" allocator is looked up wrongly when the program brings its own: pointers go to the wrong free
 * Right: exit 0, stdout "ok". malloc's blocks come from jemalloc (mallctl "thread.allocated" grows by them) both with
 *     and without the preload. mallocx/rallocx/sdallocx are not hooked: freeing an mallocx block by free() and a malloc
 *     block by dallocx must work; the profile may then keep a dallocx'ed block as in use, but inuse is not negative.
 *
 * BUILD $CC $SRC -o $BIN -ljemalloc
 * NEEDS link -ljemalloc
 * EXPECT timeout 5
 * EXPECT func via_malloc 1000 100000 0 0
 * EXPECT func freed_by_dallocx 100 10000 0..100 0..10000
 */
#include "tests/corpus/case.h"

#include <jemalloc/jemalloc.h>
#include <stdint.h>
#include <stdlib.h>

NOINLINE static void *via_malloc(void) {
    void *p = malloc(100);
    KEEP(p);
    return p;
}

NOINLINE static void *freed_by_dallocx(void) {
    void *p = malloc(100);
    KEEP(p);
    return p;
}

static uint64_t allocated(void) {
    uint64_t v = 0;
    size_t n = sizeof v;
    mallctl("thread.allocated", &v, &n, NULL, 0);
    return v;
}

int main(void) {
    uint64_t a = allocated();
    for (int i = 0; i < 1000; i++)
        free(via_malloc());
    if (allocated() - a < 100000)
        return 1;
    for (int i = 0; i < 100; i++) {
        void *p = mallocx(200, MALLOCX_ALIGN(64));
        KEEP(p);
        p = rallocx(p, 5000, 0);
        KEEP(p);
        if (!p)
            return 2;
        free(p); /* unknown to the hooks */
        dallocx(freed_by_dallocx(), 0);
        char *q = mallocx(64, 0);
        KEEP(q);
        q = realloc(q, 128);
        KEEP(q); /* unknown old pointer */
        if (!q || malloc_usable_size(q) < 128)
            return 3;
        free(q);
    }
    return say_ok();
}
