/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: fork (blocks of the parent that the child frees, and the other way round)
 * Symptom: what was in use at the fork is counted twice, or a free in the child is taken from the parent's profile
 * Right: exit 0, stdout "ok": of 100 blocks the child frees 60, resizes 10, and keeps 30, while the parent keeps 50. In
 *     the child's profile what it inherited is marked, and balances.
 *
 * EXPECT profiles 2
 * EXPECT func held_at_fork 100 2000 50 1000
 * EXPECT func resized_in_child 10 500 10 500
 */
#include "tests/corpus/case.h"

#include <stdlib.h>
#include <sys/wait.h>

static void *held[100];

NOINLINE static void *held_at_fork(void) {
    void *p = malloc(20);
    KEEP(p);
    return p;
}

NOINLINE static void *resized_in_child(void *p) {
    void *q = realloc(p, 50);
    KEEP(q);
    return q;
}

int main(void) {
    int status;
    for (int i = 0; i < 100; i++)
        held[i] = held_at_fork();
    pid_t child = fork();
    if (child == 0) {
        for (int i = 0; i < 60; i++)
            free(held[i]);
        for (int i = 60; i < 70; i++)
            held[i] = resized_in_child(held[i]);
        exit(held[69] ? 0 : 1);
    }
    for (int i = 0; i < 50; i++)
        free(held[i]);
    if (child < 0 || waitpid(child, &status, 0) != child || status)
        return 1;
    return say_ok();
}
