/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: fork handlers of the program that allocate
 * Symptom: the tool's own fork handlers hold its locks while the program's allocate
 * Right: exit 0, stdout "ok": handlers for before, parent and child, registered by the program and by a library opened
 *     later, allocate and free, while three threads allocate.
 *
 * BUILD $CC -pthread $SRC -o $BIN
 * EXPECT timeout 20
 * EXPECT timing
 * EXPECT profiles 31
 * EXPECT func before_fork 60 1200 0 0
 * EXPECT func in_parent_after 60 1800 0 0
 */
#include "tests/corpus/case.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>

static volatile int stop;

NOINLINE static void before_fork(void) {
    void *p = malloc(20);
    KEEP(p);
    free(p);
}

NOINLINE static void in_parent_after(void) {
    void *p = malloc(30);
    KEEP(p);
    free(p);
}

NOINLINE static void in_child_after(void) {
    void *p = malloc(40);
    KEEP(p);
    free(p);
}

static void *busy(void *arg) {
    for (size_t i = 0; !stop; i++) {
        void *p = malloc(16 + i % 512);
        KEEP(p);
        free(p);
    }
    return arg;
}

int main(void) {
    pthread_t t[3];
    pthread_atfork(before_fork, in_parent_after, in_child_after);
    for (int i = 0; i < 3; i++)
        pthread_create(&t[i], NULL, busy, NULL);
    pthread_atfork(before_fork, in_parent_after, in_child_after);
    for (int i = 0; i < 30; i++) {
        pid_t child = fork();
        if (child == 0)
            exit(3);
        int status;
        if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status) != 3)
            return 1;
    }
    stop = 1;
    for (int i = 0; i < 3; i++)
        pthread_join(t[i], NULL);
    return say_ok();
}
