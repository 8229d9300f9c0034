/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: multi-thread counter races (address freed by one thread, given at once to another)
 * Report: https://github.com/peak-team/peak/issues/82
 * Symptom: the hook calls the real free first and forgets the block afterwards: it forgets the next owner's block
 * Right: exit 0, stdout "ok". 6 threads share one arena without per-thread caches (by mallopt, and by the size chosen,
 *     above tcache's limit), allocate, realloc and free 1100-byte blocks in a tight loop, handing half of them over to
 *     another thread to free. At the end every block is freed: nothing in use, and never a negative value.
 *
 * BUILD $CC -pthread $SRC -o $BIN
 * EXPECT timeout 60
 * EXPECT timing
 * EXPECT func taker 120000 132000000 0 0
 * EXPECT func changer 120000 168000000 0 0
 */
#include "tests/corpus/case.h"

#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>

static void *slot[64];

NOINLINE static void *taker(void) {
    void *p = malloc(1100);
    KEEP(p);
    return p;
}

NOINLINE static void *changer(void *p) {
    void *q = realloc(p, 1400);
    KEEP(q);
    return q;
}

static void *run(void *a) {
    unsigned r = (unsigned)(long)a;
    for (int i = 0; i < 20000; i++) {
        void *p = changer(taker());
        r = r * 1103515245 + 12345;
        void *old = __atomic_exchange_n(&slot[r >> 16 & 63], p, __ATOMIC_ACQ_REL);
        free(old);
    }
    return NULL;
}

int main(void) {
    mallopt(M_ARENA_MAX, 1);
    pthread_t t[6];
    for (long i = 0; i < 6; i++)
        pthread_create(&t[i], NULL, run, (void *)(i + 1));
    for (int i = 0; i < 6; i++)
        pthread_join(t[i], NULL);
    for (int i = 0; i < 64; i++)
        free(slot[i]);
    return say_ok();
}
