/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: dumps on a signal, in parents and children
 * Symptom: a dump asked for in the parent is written by the child, under the other's name, or waits for a lock taken
 *     before the fork
 * Right: exit 0, stdout "ok": parent and 20 children send themselves the dump signal around the forks; every file is
 *     whole, and each child's last one is its own.
 *
 * ENV CPROF_SIGNAL=USR2
 * EXPECT timing
 * EXPECT timeout 30
 * EXPECT dumps 42..200
 * EXPECT func child_after_dump 15 600 0 0
 */
#include "tests/corpus/case.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>

NOINLINE static void *child_after_dump(void) {
    void *p = malloc(40);
    KEEP(p);
    return p;
}

int main(void) {
    int profiled = getenv("CPROF_SIGNAL") != NULL;
    for (int i = 0; i < 20; i++) {
        void *p = malloc(100);
        KEEP(p);
        if (profiled)
            raise(SIGUSR2);
        pid_t child = fork();
        if (child == 0) {
            for (int k = 0; k < 15; k++) {
                if (profiled && k % 5 == 0)
                    raise(SIGUSR2);
                free(child_after_dump());
            }
            exit(2);
        }
        int status;
        if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status) != 2)
            return 1;
        free(p);
    }
    return say_ok();
}
