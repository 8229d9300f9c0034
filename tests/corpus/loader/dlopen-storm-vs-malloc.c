/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: dl_iterate_phdr deadlock with dlopen in threads
 * Report: https://github.com/async-profiler/async-profiler/issues/1151
 * Symptom: one thread holds the loader lock and wants the allocator's lock; another holds the allocator's and unwinds
 * Right: exit 0, stdout "ok" within 30 s (0.2 s without a preload). Four threads allocate without pause while two open
 *     and close a plugin whose constructor and destructor allocate and free.
 *
 * BUILD $CC -shared -fPIC -DPLUGIN $SRC -o $BIN.so
 * BUILD $CC -pthread $SRC -o $BIN -DSO="\"$BIN.so\""
 * EXPECT timeout 30
 * EXPECT timing
 * EXPECT func busy_block 40000 2560000 0 0
 */
#include "tests/corpus/case.h"

#include <stdlib.h>
#ifdef PLUGIN
static void *held;

__attribute__((constructor)) static void plug_ctor(void) {
    void *p = malloc(50);
    KEEP(p);
    held = p;
}

__attribute__((destructor)) static void plug_dtor(void) {
    free(held);
}
#else
#include <dlfcn.h>
#include <pthread.h>

static pthread_mutex_t mu = PTHREAD_MUTEX_INITIALIZER;

NOINLINE static void *busy_block(void) {
    void *p = malloc(64);
    KEEP(p);
    return p;
}

static void *alloc_loop(void *a) {
    (void)a;
    for (int i = 0; i < 10000; i++)
        free(busy_block());
    return NULL;
}

static void *dl_loop(void *a) {
    (void)a;
    for (int i = 0; i < 200; i++) {
        pthread_mutex_lock(&mu); /* so that each open really loads */
        void *h = dlopen(SO, RTLD_NOW);
        if (!h || dlclose(h))
            return (void *)1;
        pthread_mutex_unlock(&mu);
    }
    return NULL;
}

int main(void) {
    pthread_t t[6];
    void *r;
    for (int i = 0; i < 6; i++)
        pthread_create(&t[i], NULL, i < 4 ? alloc_loop : dl_loop, NULL);
    for (int i = 0; i < 6; i++) {
        pthread_join(t[i], &r);
        if (r)
            return 1;
    }
    return say_ok();
}
#endif
