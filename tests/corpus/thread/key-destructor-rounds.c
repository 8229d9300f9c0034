/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: thread_local destructors freeing (pthread keys re-set in their destructors)
 * Report: https://github.com/google/sanitizers/issues/943
 * Symptom: a library's own thread-exit clean-up (here libunwind's trace cache) runs when the tool's is already over
 * Right: exit 0, stdout "ok". Key destructors set their key again for all 4 rounds glibc grants, allocating in each
 *     round; keys are made both before and after the profiler could have made its own. Nothing recorded in the last
 *     rounds is lost or counted twice.
 *
 * BUILD $CC -pthread $SRC -o $BIN
 * EXPECT timeout 10
 * EXPECT func round_alloc 2400 96000 0 0
 */
#include "tests/corpus/case.h"

#include <pthread.h>
#include <stdlib.h>

static pthread_key_t k[10];
static int calls;

NOINLINE static void *round_alloc(void) {
    void *p = malloc(40);
    KEEP(p);
    return p;
}

#define D(n)                                                                                                           \
    static void d##n(void *v) {                                                                                        \
        int *c = v;                                                                                                    \
        __atomic_add_fetch(&calls, 1, __ATOMIC_SEQ_CST);                                                               \
        free(round_alloc());                                                                                           \
        if (++*c < 4)                                                                                                  \
            pthread_setspecific(k[n], c);                                                                              \
        else                                                                                                           \
            free(c);                                                                                                   \
    }
D(0)
D(1) D(2) D(3) D(4) D(5) D(6) D(7) D(8)
    D(9) static void (*const dt[10])(void *) = {d0, d1, d2, d3, d4, d5, d6, d7, d8, d9};

static void *run(void *a) {
    for (int i = 0; i < 10; i++) {
        int *c = malloc(sizeof *c);
        *c = 0;
        pthread_setspecific(k[i], c);
    }
    return a;
}

int main(void) {
    for (int i = 0; i < 10; i++)
        pthread_key_create(&k[i], dt[i]);
    for (int i = 0; i < 60; i++) {
        pthread_t t;
        pthread_create(&t, NULL, run, NULL);
        pthread_join(t, NULL);
    }
    if (calls != 2400)
        return 1;
    return say_ok();
}
