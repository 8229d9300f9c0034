/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: dl_iterate_phdr deadlock with dlopen in threads (deterministic, dlopen side)
 * Report: https://github.com/libunwind/libunwind/issues/16
 * Symptom: a hook that calls dladdr/dlopen/dl_iterate_phdr waits for the loader lock held by a running dlopen
 * Right: exit 0, stdout "ok" within 5 s. The plugin's constructor runs with ld.so's lock held and joins a thread that
 *     does 500 allocations with fresh stacks. An allocation path that needs the loader lock never returns.
 *
 * BUILD $CC -shared -fPIC -pthread -DPLUGIN $SRC -o $BIN.so
 * BUILD $CC -pthread $SRC -o $BIN -DSO="\"$BIN.so\""
 * EXPECT timeout 10
 * EXPECT func helper_alloc 500 100000 0 0
 */
#include "tests/corpus/case.h"

#include <pthread.h>
#include <stdlib.h>
#ifdef PLUGIN
NOINLINE static void *helper_alloc(void) {
    void *p = malloc(200);
    KEEP(p);
    return p;
}

static void *helper(void *a) {
    (void)a;
    for (int i = 0; i < 500; i++)
        free(helper_alloc());
    return NULL;
}

__attribute__((constructor)) static void ctor(void) {
    pthread_t t;
    pthread_create(&t, NULL, helper, NULL);
    pthread_join(t, NULL);
}
#else
#include <dlfcn.h>

int main(void) {
    void *h = dlopen(SO, RTLD_NOW);
    if (!h)
        return 1;
    return say_ok();
}
#endif
