/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: TLS allocation recursion (dynamic TLS: __tls_get_addr -> malloc)
 * Report: https://github.com/koute/bytehound/issues/131
 * Symptom: touching the hook's thread-local makes ld.so malloc its block, which enters the hook: stack overflow
 * Right: exit 0, stdout "ok". 16 threads that existed before the dlopen touch 64 KiB of dynamic TLS of the new module
 *     as the very first thing that can allocate in them; ld.so serves it through malloc/calloc.
 *
 * BUILD $CC -shared -fPIC -ftls-model=global-dynamic -DPLUGIN $SRC -o $BIN.so
 * BUILD $CC -pthread $SRC -o $BIN -DSO="\"$BIN.so\""
 * EXPECT timeout 10
 * EXPECT func after_touch 1600 51200 0 0
 */
#include "tests/corpus/case.h"

#ifdef PLUGIN
static __thread char big[65536];
static __thread long hits;

long plugin_touch(int v) {
    for (int i = 0; i < 65536; i += 512)
        big[i] = (char)v;
    hits += v;
    return hits + big[512];
}
#else
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>

static pthread_barrier_t before, after;
static long (*fn)(int);
static int bad;

NOINLINE static void *after_touch(void) {
    void *p = malloc(32);
    KEEP(p);
    return p;
}

static void *run(void *a) {
    (void)a;
    pthread_barrier_wait(&before);
    pthread_barrier_wait(&after);
    if (fn(3) != 6)
        __atomic_store_n(&bad, 1, __ATOMIC_SEQ_CST);
    for (int i = 0; i < 100; i++)
        free(after_touch());
    return NULL;
}

int main(void) {
    pthread_t t[16];
    pthread_barrier_init(&before, NULL, 17);
    pthread_barrier_init(&after, NULL, 17);
    for (int i = 0; i < 16; i++)
        pthread_create(&t[i], NULL, run, NULL);
    pthread_barrier_wait(&before);
    void *h = dlopen(SO, RTLD_NOW);
    if (!h)
        return 1;
    fn = (long (*)(int))dlsym(h, "plugin_touch");
    pthread_barrier_wait(&after);
    for (int i = 0; i < 16; i++)
        pthread_join(t[i], NULL);
    if (bad || fn(1) != 2)
        return 2;
    return say_ok();
}
#endif
