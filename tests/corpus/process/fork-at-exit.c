/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: fork in a handler that runs at exit
 * Symptom: the child goes on where the parent is: at its end; each must write its own, once
 * Right: exit 0, stdout "ok": an atexit handler forks; the child allocates, returns from the handler, and ends as its
 *     parent does. Two profiles.
 *
 * EXPECT profiles 2
 * EXPECT func in_child_at_exit 20 400 0 0
 * EXPECT func in_parent_of_it 30 900 0 0
 */
#include "tests/corpus/case.h"

#include <stdlib.h>
#include <sys/wait.h>

NOINLINE static void in_child_at_exit(void) {
    for (int i = 0; i < 20; i++) {
        void *p = malloc(20);
        KEEP(p);
        free(p);
    }
}

NOINLINE static void in_parent_of_it(void) {
    for (int i = 0; i < 30; i++) {
        void *p = malloc(30);
        KEEP(p);
        free(p);
    }
}

static void split(void) {
    int status;
    pid_t child = fork();
    if (child == 0) {
        in_child_at_exit();
        return;
    }
    in_parent_of_it();
    if (child < 0 || waitpid(child, &status, 0) != child || status)
        _exit(1);
    say_ok();
}

int main(void) {
    return atexit(split);
}
