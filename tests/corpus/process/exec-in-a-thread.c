/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: exec in a thread other than the first, while others allocate
 * Symptom: exec ends all other threads in the middle of the tool's books, which are written just then
 * Right: exit 0, stdout "ok": a thread executes the program anew while three others allocate; the first image has a
 *     profile, and the second, which has an empty environment, has none.
 *
 * BUILD $CC -pthread $SRC -o $BIN
 * EXPECT timing
 * EXPECT snapshot
 * EXPECT profiles 1
 * EXPECT func before_exec 100 6400 100 6400
 */
#include "tests/corpus/case.h"

#include <pthread.h>
#include <stdlib.h>

static void *held[100];

NOINLINE static void *before_exec(void) {
    void *p = malloc(64);
    KEEP(p);
    return p;
}

static void *busy(void *arg) {
    for (size_t i = 0;; i++) {
        void *p = malloc(16 + i % 1000);
        KEEP(p);
        free(p);
    }
    return arg;
}

static void *leave(void *arg) {
    char *const again[] = {"again", "again", NULL}, *const empty[] = {NULL};
    usleep(10000);
    execve("/proc/self/exe", again, empty);
    _exit(1);
    return arg;
}

int main(int argc, char **argv) {
    pthread_t t;
    (void)argv;
    if (argc > 1)
        return say_ok();
    for (int i = 0; i < 100; i++)
        held[i] = before_exec();
    for (int i = 0; i < 3; i++)
        pthread_create(&t, NULL, busy, NULL);
    pthread_create(&t, NULL, leave, NULL);
    pthread_join(t, NULL);
    return 2;
}
