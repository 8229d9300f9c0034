/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: program linked with mimalloc
 * Report: https://github.com/microsoft/mimalloc/issues/21
 * Symptom: two replacement allocators in one process: crash at start
 * Right: exit 0, stdout "ok". Blocks really come from mimalloc (mi_is_in_heap_region), with the preload too; mi_malloc
 *     blocks are freed by free() and malloc blocks by mi_free.
 *
 * BUILD $CC -pthread $SRC -o $BIN -lmimalloc
 * NEEDS link -lmimalloc
 * EXPECT timeout 10
 * EXPECT func mi_user 4000 400000 * *
 */
#include "tests/corpus/case.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

extern bool mi_is_in_heap_region(const void *);
extern void *mi_malloc(size_t);
extern void mi_free(void *);

NOINLINE static void *mi_user(void) {
    void *p = malloc(100);
    KEEP(p);
    return p;
}

static void *run(void *a) {
    for (int i = 0; i < 1000; i++) {
        void *p = mi_user();
        if (!mi_is_in_heap_region(p))
            return (void *)1;
        if (i & 1)
            free(p);
        else
            mi_free(p);
        void *q = mi_malloc(50);
        KEEP(q);
        q = realloc(q, 500);
        KEEP(q);
        free(q);
    }
    return a;
}

int main(void) {
    pthread_t t[4];
    void *r;
    for (int i = 0; i < 4; i++)
        pthread_create(&t[i], NULL, run, NULL);
    for (int i = 0; i < 4; i++) {
        pthread_join(t[i], &r);
        if (r)
            return 1;
    }
    return say_ok();
}
