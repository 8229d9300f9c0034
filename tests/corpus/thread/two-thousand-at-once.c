/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: many threads at the same time
 * Symptom: a table of threads of fixed size overflows, or the totals of those that do not fit are lost
 * Right: exit 0, stdout "ok": 2000 threads live at the same time, allocate 10 blocks each from two stacks, and free
 *     each other's; all is counted.
 *
 * BUILD $CC -pthread $SRC -o $BIN
 * EXPECT timeout 30
 * EXPECT func one_of_thousands 20000 800000 0 0
 */
#include "tests/corpus/case.h"

#include <pthread.h>
#include <stdlib.h>

#define THREADS 2000

static pthread_barrier_t all_there;
static void *held[THREADS][10];

NOINLINE static void *one_of_thousands(int depth) {
    void *p = depth ? one_of_thousands(depth - 1) : malloc(40);
    KEEP(p);
    return p;
}

static void *run(void *arg) {
    long n = (long)arg;
    for (int i = 0; i < 10; i++)
        held[n][i] = one_of_thousands(i % 2);
    pthread_barrier_wait(&all_there);
    for (int i = 0; i < 10; i++)
        free(held[(n + 1) % THREADS][i]);
    return NULL;
}

int main(void) {
    static pthread_t t[THREADS];
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 65536);
    pthread_barrier_init(&all_there, NULL, THREADS);
    for (long i = 0; i < THREADS; i++)
        if (pthread_create(&t[i], &small, run, (void *)i))
            _exit(77);
    for (int i = 0; i < THREADS; i++)
        pthread_join(t[i], NULL);
    return say_ok();
}
