/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: blocks allocated by one thread and freed by another
 * Symptom: frees by others are lost, or counted for the wrong stack: memory in use that is not, or less than none
 * Right: exit 0, stdout "ok": two threads produce 60000 blocks each, two others resize half of them and free all.
 *
 * BUILD $CC -pthread $SRC -o $BIN
 * EXPECT timing
 * EXPECT func producer_block 120000 * 0 0
 * EXPECT func resized_by_consumer 60000 36000000 0 0
 */
#include "tests/corpus/case.h"

#include <pthread.h>
#include <stdlib.h>

#define EACH 60000
static void *volatile slots[2][256];

NOINLINE static void *producer_block(size_t n) {
    void *p = malloc(n);
    KEEP(p);
    return p;
}

NOINLINE static void *resized_by_consumer(void *p) {
    void *q = realloc(p, 600);
    KEEP(q);
    return q;
}

static void *produce(void *arg) {
    long lane = (long)arg;
    for (int i = 0; i < EACH; i++) {
        void *p = producer_block(16 + (size_t)i % 500);
        while (__atomic_load_n(&slots[lane][i % 256], __ATOMIC_ACQUIRE))
            sched_yield();
        __atomic_store_n(&slots[lane][i % 256], p, __ATOMIC_RELEASE);
    }
    return NULL;
}

static void *consume(void *arg) {
    long lane = (long)arg;
    for (int i = 0; i < EACH; i++) {
        void *p;
        while (!(p = __atomic_load_n(&slots[lane][i % 256], __ATOMIC_ACQUIRE)))
            sched_yield();
        __atomic_store_n(&slots[lane][i % 256], NULL, __ATOMIC_RELEASE);
        free(i % 2 ? resized_by_consumer(p) : p);
    }
    return NULL;
}

int main(void) {
    pthread_t t[4];
    for (long i = 0; i < 4; i++)
        pthread_create(&t[i], NULL, i < 2 ? produce : consume, (void *)(i % 2));
    for (int i = 0; i < 4; i++)
        pthread_join(t[i], NULL);
    return say_ok();
}
