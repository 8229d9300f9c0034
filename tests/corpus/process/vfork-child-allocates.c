/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: vfork (a child that allocates in its parent's memory)
 * Symptom: the child's allocations are taken for those of a new process, or its _exit for the end of the parent's
 * Right: exit 0, stdout "ok": 100 vfork children allocate a block each, which the parent frees, and end by _exit; the
 *     only profile is the parent's, and exact.
 *
 * EXPECT profiles 1
 * EXPECT func by_vfork_child 100 6400 0 0
 * EXPECT func by_vfork_parent 100 3200 0 0
 */
#include "tests/corpus/case.h"

#include <stdlib.h>
#include <sys/wait.h>

static void *volatile from_child;

NOINLINE static void *by_vfork_child(void) {
    void *p = malloc(64);
    KEEP(p);
    return p;
}

NOINLINE static void *by_vfork_parent(void) {
    void *p = malloc(32);
    KEEP(p);
    return p;
}

NOINLINE static int once(void) {
    pid_t child = vfork();
    if (child == 0) {
        from_child = by_vfork_child();
        _exit(3);
    }
    int status;
    free(from_child);
    return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 3;
}

int main(void) {
    for (int i = 0; i < 100; i++) {
        free(by_vfork_parent());
        if (!once())
            return 1;
    }
    return say_ok();
}
