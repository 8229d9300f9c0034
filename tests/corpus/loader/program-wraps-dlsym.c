/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: a dlsym of the program's own, made of dlvsym(RTLD_NEXT), as overlays and tracers have one
 * Symptom: what the profiler looks up as "next" is what comes after the program, the profiler itself: endless
 *     recursion
 * Right: exit 0, stdout "ok": the program allocates 100 blocks, and looks up a function through its own dlsym
 *
 * BUILD $CC $SRC -o $BIN -rdynamic
 * EXPECT func leaf 100 10000 0 0
 */
#include "tests/corpus/case.h"

#include <dlfcn.h>
#include <stdlib.h>

static int calls;

void *dlsym(void *handle, const char *name) {
    static void *(*real)(void *, const char *);
    if (!real)
        real = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5");
    calls++;
    void *p = real(handle, name);
    KEEP(p); /* a call, no jump: "next" is what comes after this function */
    return p;
}

NOINLINE static void leaf(void) {
    void *p = malloc(100);
    KEEP(p);
    free(p);
}

int main(void) {
    for (int i = 0; i < 100; i++)
        leaf();
    return dlsym(RTLD_DEFAULT, "strlen") && calls > 0 ? say_ok() : 3;
}
