/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: clone as a bare system call (no handlers of libc's fork run)
 * Symptom: a tool that is told of children by pthread_atfork alone takes the child for the parent: its file, its
 *     counters
 * Right: exit 0, stdout "ok": ten children made by the system call itself allocate and end by _exit; parent and
 *     children have exact profiles of their own.
 *
 * EXPECT profiles 11
 * EXPECT func in_bare_child 30 900 30 900
 * EXPECT func in_parent 100 4000 0 0
 * EXPECT timing
 */
#include "tests/corpus/case.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>

NOINLINE static void *in_bare_child(void) {
    void *p = malloc(30);
    KEEP(p);
    return p;
}

NOINLINE static void *in_parent(void) {
    void *p = malloc(40);
    KEEP(p);
    return p;
}

int main(void) {
    for (int i = 0; i < 10; i++) {
        for (int k = 0; k < 10; k++)
            free(in_parent());
        long child = syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
        if (child == 0) {
            for (int k = 0; k < 30; k++)
                in_bare_child();
            _exit(8);
        }
        int status;
        if (child < 0 || waitpid((pid_t)child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status) != 8)
            return 1;
    }
    return say_ok();
}
