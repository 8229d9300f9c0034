/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: thread-name labels
 * Report: https://github.com/jemalloc/jemalloc/issues/967
 * Symptom: the thread's name is read at its first allocation, before the program has given it one
 * Right: exit 0, stdout "ok". Three threads allocate 10 blocks, name themselves worker-0..2, allocate 100 more. No
 *     sample carries a stale name; totals over all labels are exact.
 *
 * BUILD $CC -pthread $SRC -o $BIN
 * EXPECT timeout 5
 * EXPECT func unnamed_leaf 30 300 0 0
 * EXPECT func named_leaf 300 6000 300 6000
 */
#include "tests/corpus/case.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static void *keep[3][100];

NOINLINE static void *unnamed_leaf(void) {
    void *p = malloc(10);
    KEEP(p);
    return p;
}

NOINLINE static void *named_leaf(void) {
    void *p = malloc(20);
    KEEP(p);
    return p;
}

static void *run(void *a) {
    long n = (long)a;
    char name[16];
    for (int i = 0; i < 10; i++)
        free(unnamed_leaf());
    snprintf(name, sizeof name, "worker-%ld", n);
    pthread_setname_np(pthread_self(), name);
    for (int i = 0; i < 100; i++)
        keep[n][i] = named_leaf();
    return NULL;
}

int main(void) {
    pthread_t t[3];
    for (long i = 0; i < 3; i++)
        pthread_create(&t[i], NULL, run, (void *)i);
    for (int i = 0; i < 3; i++)
        pthread_join(t[i], NULL);
    return say_ok();
}
