/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: dl_iterate_phdr deadlock (callback that allocates)
 * Report: https://github.com/google/tcmalloc/issues/120
 * Symptom: the program calls dl_iterate_phdr and allocates in the callback while other threads allocate: cross lock
 * Right: exit 0, stdout "ok" within 30 s (0.1 s without a preload).
 *
 * BUILD $CC -pthread $SRC -o $BIN
 * EXPECT timeout 30
 * EXPECT timing
 * EXPECT func load_block 30000 1440000 0 0
 */
#include "tests/corpus/case.h"

#include <link.h>
#include <pthread.h>
#include <stdlib.h>

static volatile int stop;

NOINLINE static void *load_block(void) {
    void *p = malloc(48);
    KEEP(p);
    return p;
}

static int cb(struct dl_phdr_info *i, size_t s, void *d) {
    (void)i;
    (void)s;
    (void)d;
    for (int k = 0; k < 20; k++) {
        void *p = malloc(2000 + 16 * k);
        KEEP(p);
        free(p);
    }
    return 0;
}

static void *walker(void *a) {
    (void)a;
    while (!stop)
        dl_iterate_phdr(cb, NULL);
    return NULL;
}

static void *loader(void *a) {
    (void)a;
    for (int i = 0; i < 10000; i++)
        free(load_block());
    return NULL;
}

int main(void) {
    pthread_t w, t[3];
    pthread_create(&w, NULL, walker, NULL);
    for (int i = 0; i < 3; i++)
        pthread_create(&t[i], NULL, loader, NULL);
    for (int i = 0; i < 3; i++)
        pthread_join(t[i], NULL);
    stop = 1;
    pthread_join(w, NULL);
    return say_ok();
}
