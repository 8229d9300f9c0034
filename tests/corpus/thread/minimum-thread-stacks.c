/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: tiny pthread stacks (PTHREAD_STACK_MIN)
 * Report: https://github.com/polyml/polyml/pull/293
 * Symptom: a thread with the smallest legal stack overflows when an unwinder's big structures land on it
 * Right: exit 0, stdout "ok". 50 threads with 16 KiB stacks (PTHREAD_STACK_MIN, guard page below; about 11 KiB of it
 *     left to the thread) allocate, resize and free at call depth 20. A profiler that needs more than about 8 KiB of
 *     the caller's stack must do its work on one of its own.
 *
 * BUILD $CC -pthread $SRC -o $BIN
 * EXPECT timeout 10
 * EXPECT func tiny 1000 100000 0 0
 */
#include "tests/corpus/case.h"

#include <limits.h>
#include <pthread.h>
#include <stdlib.h>

NOINLINE static void *tiny(int d) {
    void *p = d ? tiny(d - 1) : malloc(100);
    KEEP(p);
    return p;
}

static void *run(void *a) {
    for (int i = 0; i < 20; i++) {
        void *p = tiny(20);
        p = realloc(p, 300);
        KEEP(p);
        free(p);
    }
    return a;
}

int main(void) {
    pthread_attr_t at;
    pthread_attr_init(&at);
    if (pthread_attr_setstacksize(&at, PTHREAD_STACK_MIN))
        return 1;
    for (int i = 0; i < 10; i++) {
        pthread_t t[5];
        for (int j = 0; j < 5; j++)
            if (pthread_create(&t[j], &at, run, NULL))
                return 2;
        for (int j = 0; j < 5; j++)
            pthread_join(t[j], NULL);
    }
    return say_ok();
}
