/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: pthread_cancel (deferred) of threads that do nothing but allocate
 * Symptom: a hook that sleeps, reads or writes makes malloc a cancellation point: the thread ends inside malloc, with
 *     locks held
 * Right: exit 0, stdout "ok": 60 threads are cancelled while they allocate; they end only where they test for it,
 *     outside of malloc, and their clean-up handlers free what they hold. Nothing is in use at the end.
 *
 * BUILD $CC -pthread $SRC -o $BIN
 * EXPECT timing
 * EXPECT func held_by_thread 60..100000000 * 0 0
 */
#include "tests/corpus/case.h"

#include <pthread.h>
#include <stdlib.h>

static int cleaned, in_malloc_when_ended;

struct state {
    void *block;
    int inside;
};

NOINLINE static void *held_by_thread(size_t n) {
    void *p = malloc(n);
    KEEP(p);
    return p;
}

static void clean(void *arg) {
    struct state *s = arg;
    if (s->inside)
        __atomic_add_fetch(&in_malloc_when_ended, 1, __ATOMIC_RELAXED);
    free(s->block);
    __atomic_add_fetch(&cleaned, 1, __ATOMIC_RELAXED);
}

static void *run(void *arg) {
    volatile struct state s = {NULL, 0};
    pthread_cleanup_push(clean, (void *)&s);
    for (size_t i = 0;; i++) {
        s.inside = 1;
        s.block = held_by_thread(16 + i % 4000);
        s.inside = 0;
        pthread_testcancel();
        s.inside = 1;
        free(s.block);
        s.block = NULL;
        s.inside = 0;
    }
    pthread_cleanup_pop(0);
    return arg;
}

int main(void) {
    for (int round = 0; round < 20; round++) {
        pthread_t t[3];
        void *result;
        for (int i = 0; i < 3; i++)
            pthread_create(&t[i], NULL, run, NULL);
        usleep(3000 + 100 * (unsigned)round);
        for (int i = 0; i < 3; i++)
            pthread_cancel(t[i]);
        for (int i = 0; i < 3; i++) {
            pthread_join(t[i], &result);
            if (result != PTHREAD_CANCELED)
                return 1;
        }
    }
    return cleaned == 60 && !in_malloc_when_ended ? say_ok() : 2;
}
