/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: static binaries
 * Report: https://github.com/jemalloc/jemalloc/issues/2454
 * Symptom: memory profiling of a statically linked executable crashes or deadlocks at start
 * Right: exit 0, stdout "ok". LD_PRELOAD has no effect on a static program: it runs unprofiled, and no file appears.
 *
 * BUILD $CC -static -pthread $SRC -o $BIN
 * EXPECT timeout 5
 * EXPECT profiles 0
 */
#include "tests/corpus/case.h"

#include <pthread.h>
#include <stdlib.h>

static void *run(void *a) {
    for (int i = 0; i < 1000; i++) {
        void *p = malloc(100);
        KEEP(p);
        free(p);
    }
    return a;
}

int main(void) {
    pthread_t t[4];
    for (int i = 0; i < 4; i++)
        pthread_create(&t[i], NULL, run, NULL);
    for (int i = 0; i < 4; i++)
        pthread_join(t[i], NULL);
    return say_ok();
}
