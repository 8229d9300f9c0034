/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: the preloaded library, opened again by the program
 * Symptom: dlopen and dlclose of the library itself start it twice, or end it under the hooks
 * Right: exit 0, stdout "ok": the program opens the preloaded library by its path, 20 times, closes it again, and goes
 *     on allocating.
 *
 * EXPECT profiles 1
 * EXPECT func around_opening 4000 88000 0 0
 */
#include "tests/corpus/case.h"

#include <dlfcn.h>
#include <stdlib.h>

NOINLINE static void *around_opening(void) {
    void *p = malloc(22);
    KEEP(p);
    return p;
}

int main(void) {
    const char *path = getenv("CPROF_LIB");
    for (int i = 0; i < 20; i++) {
        void *h = path && *path ? dlopen(path, RTLD_NOW | (i % 2 ? RTLD_GLOBAL : RTLD_LOCAL)) : NULL;
        for (int k = 0; k < 100; k++)
            free(around_opening());
        if (h && (!dlsym(h, "malloc") || dlclose(h)))
            return 1;
        for (int k = 0; k < 100; k++)
            free(around_opening());
    }
    return say_ok();
}
