/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: pthread_cancel (asynchronous)
 * Symptom: the forced unwinding of a cancelled thread meets frames or states of the tool, and ends the program
 * Right: exit 0, stdout "ok": 60 threads allocate, turn asynchronous cancellation on and compute; cancelled there,
 *     clean-up handlers and key destructors free what they hold.
 *
 * BUILD $CC -pthread $SRC -o $BIN
 * EXPECT timing
 * EXPECT func held_when_cancelled 120 7200 0 0
 */
#include "tests/corpus/case.h"

#include <pthread.h>
#include <stdlib.h>

static int ready;
static pthread_key_t key;

NOINLINE static void *held_when_cancelled(void) {
    void *p = malloc(60);
    KEEP(p);
    return p;
}

static void *run(void *arg) {
    void *held = held_when_cancelled();
    pthread_setspecific(key, held_when_cancelled());
    pthread_cleanup_push(free, held);
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
    __atomic_add_fetch(&ready, 1, __ATOMIC_RELEASE);
    for (;;)
        __asm__ volatile("pause");
    pthread_cleanup_pop(0);
    return arg;
}

int main(void) {
    pthread_key_create(&key, free);
    for (int i = 0; i < 60; i++) {
        pthread_t t;
        void *result;
        pthread_create(&t, NULL, run, NULL);
        while (__atomic_load_n(&ready, __ATOMIC_ACQUIRE) <= i)
            usleep(100);
        pthread_cancel(t);
        pthread_join(t, &result);
        if (result != PTHREAD_CANCELED)
            return 1;
    }
    return say_ok();
}
