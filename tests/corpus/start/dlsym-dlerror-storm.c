/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: start-up recursion (dlsym -> dlerror state -> calloc)
 * Report: https://github.com/jemalloc/jemalloc/issues/443
 * Symptom: dlsym of a missing name allocates its error text through the hook, which calls dlsym again
 * Right: exit 0, stdout "ok", no hang. dlsym(RTLD_DEFAULT/NEXT) for malloc, calloc, free never returns NULL, and a
 *     missing symbol keeps its dlerror() text (the hook must not consume or overwrite it).
 *
 * BUILD $CC -pthread $SRC -o $BIN
 * EXPECT timeout 10
 * EXPECT func probe_block 4000 160000 0 0
 */
#include "tests/corpus/case.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

NOINLINE static void *probe_block(void) {
    void *p = malloc(40);
    KEEP(p);
    return p;
}

static void *worker(void *arg) {
    (void)arg;
    for (int i = 0; i < 1000; i++) {
        dlerror();
        if (dlsym(RTLD_DEFAULT, "no_such_symbol_anywhere_x"))
            return (void *)1;
        void *p = probe_block(); /* an allocation between the failure and dlerror() */
        const char *e = dlerror();
        free(p);
        if (!e || !strstr(e, "no_such_symbol_anywhere_x"))
            return (void *)2;
    }
    return NULL;
}

int main(void) {
    if (!dlsym(RTLD_DEFAULT, "malloc") || !dlsym(RTLD_NEXT, "malloc") || !dlsym(RTLD_NEXT, "calloc") ||
        !dlsym(RTLD_NEXT, "free"))
        return 3;
    pthread_t t[4];
    for (int i = 0; i < 4; i++)
        pthread_create(&t[i], NULL, worker, NULL);
    long bad = 0;
    for (int i = 0; i < 4; i++) {
        void *r;
        pthread_join(t[i], &r);
        bad |= (long)r;
    }
    if (bad)
        return (int)bad;
    return say_ok();
}
