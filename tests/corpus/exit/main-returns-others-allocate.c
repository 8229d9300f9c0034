/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: exit paths (exit while other threads still allocate)
 * Report: https://github.com/jemalloc/jemalloc/issues/609
 * Symptom: crash while the process shuts down: tool state is torn down under the feet of running threads
 * Right: exit 4 within 10 s, stdout "ok". 8 threads malloc, realloc and free from 60 different
 *     stacks while main returns; a profile, if written, is whole (its totals are a snapshot: inuse of a stack is never
 *     negative nor above its alloc).
 *
 * BUILD $CC -pthread $SRC -o $BIN
 * EXPECT exit 4
 * EXPECT timeout 10
 * EXPECT timing
 * EXPECT func before_exit 100 6400 100 6400
 * EXPECT snapshot
 */
#include "tests/corpus/case.h"

#include <pthread.h>
#include <stdlib.h>

static void *keep[100];

NOINLINE static void *before_exit(void) {
    void *p = malloc(64);
    KEEP(p);
    return p;
}

NOINLINE static void *nest(int d, int n) {
    void *p = d ? nest(d - 1, n) : malloc(n);
    KEEP(p);
    return p;
}

static void *run(void *a) {
    unsigned s = (unsigned)(long)a;
    for (;;) {
        s = s * 1103515245 + 12345;
        void *p = nest(s >> 16 & 31, 16 + (s >> 8 & 2047));
        void *q = realloc(p, 4000);
        KEEP(q);
        free(q);
    }
    return NULL;
}

int main(void) {
    for (long i = 1; i <= 8; i++) {
        pthread_t t;
        pthread_create(&t, NULL, run, (void *)i);
    }
    for (int i = 0; i < 100; i++)
        keep[i] = before_exit();
    usleep(100000);
    return say_ok() ? 99 : 4;
}
