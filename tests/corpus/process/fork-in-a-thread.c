/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: fork in a thread other than the first
 * Symptom: in the child the only thread is not the one that the tool takes for the main one; exit there must write all
 *     the same
 * Right: exit 0, stdout "ok": five threads fork at once; each child allocates in the thread that forked, frees what its
 *     parent had allocated, and ends by exit.
 *
 * BUILD $CC -pthread $SRC -o $BIN
 * EXPECT timing
 * EXPECT profiles 6
 * EXPECT func by_forked_thread 100 2500 50 1250
 * EXPECT func of_parent_thread 50 1750 0 0
 */
#include "tests/corpus/case.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>

static void *held[50];

NOINLINE static void *by_forked_thread(void) {
    void *p = malloc(25);
    KEEP(p);
    return p;
}

NOINLINE static void *of_parent_thread(void) {
    void *p = malloc(35);
    KEEP(p);
    return p;
}

static void *run(void *arg) {
    void *mine[10];
    int status;
    for (int i = 0; i < 10; i++)
        mine[i] = of_parent_thread();
    pid_t child = fork();
    if (child == 0) {
        for (int i = 0; i < 50; i++) {
            held[i] = by_forked_thread();
            free(by_forked_thread());
        }
        for (int i = 0; i < 10; i++)
            free(mine[i]);
        exit(6);
    }
    for (int i = 0; i < 10; i++)
        free(mine[i]);
    if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status) != 6)
        return (void *)1;
    return arg;
}

int main(void) {
    pthread_t t[5];
    void *result, *bad = NULL;
    for (int i = 0; i < 5; i++)
        pthread_create(&t[i], NULL, run, NULL);
    for (int i = 0; i < 5; i++) {
        pthread_join(t[i], &result);
        bad = result ? result : bad;
    }
    return bad ? 1 : say_ok();
}
