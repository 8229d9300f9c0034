/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: exit paths (exit in a thread other than the first)
 * Symptom: the end of the process comes in a thread that the tool does not take for the main one, while others allocate
 *     and main waits
 * Right: exit 6, stdout "ok": a thread calls exit while main sits in pause() and two threads allocate without pause.
 *     The profile is whole.
 *
 * BUILD $CC -pthread $SRC -o $BIN
 * EXPECT exit 6
 * EXPECT timing
 * EXPECT snapshot
 * EXPECT func before_the_end 100 6400 100 6400
 */
#include "tests/corpus/case.h"

#include <pthread.h>
#include <stdlib.h>

static void *held[100];

NOINLINE static void *before_the_end(void) {
    void *p = malloc(64);
    KEEP(p);
    return p;
}

static void *busy(void *arg) {
    for (size_t i = 0;; i++) {
        void *p = malloc(16 + i % 2000);
        KEEP(p);
        free(p);
    }
    return arg;
}

static void *leave(void *arg) {
    (void)arg;
    for (int i = 0; i < 100; i++)
        held[i] = before_the_end();
    usleep(20000);
    exit(say_ok() ? 1 : 6);
}

int main(void) {
    pthread_t t;
    for (int i = 0; i < 2; i++)
        pthread_create(&t, NULL, busy, NULL);
    pthread_create(&t, NULL, leave, NULL);
    for (;;)
        pause();
}
