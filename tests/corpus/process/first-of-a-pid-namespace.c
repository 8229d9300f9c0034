/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: a new pid namespace (the child's pid is 1)
 * Symptom: a tool that tells processes apart by getpid() or names its files by it confuses two of them
 * Right: exit 0, stdout "ok": a child is the first of its namespace; its own child has pid 2. All three have exact
 *     profiles.
 *
 * NEEDS root
 * EXPECT profiles 3
 * EXPECT func by_pid_1 10 210 10 210
 * EXPECT func by_pid_2 20 440 20 440
 * EXPECT func by_outer 30 690 30 690
 */
#include "tests/corpus/case.h"

#include <sched.h>
#include <stdlib.h>
#include <sys/wait.h>

#define WORK(name, n, size)                                                                                            \
    NOINLINE static void name(void) {                                                                                  \
        for (int i = 0; i < (n); i++) {                                                                                \
            void *p = malloc(size);                                                                                    \
            KEEP(p);                                                                                                   \
        }                                                                                                              \
    }
WORK(by_pid_1, 10, 21)
WORK(by_pid_2, 20, 22)
WORK(by_outer, 30, 23)

int main(void) {
    int status;
    if (unshare(CLONE_NEWPID))
        return 77;
    pid_t child = fork();
    if (child == 0) {
        pid_t second = fork();
        if (second == 0) {
            by_pid_2();
            exit(getpid() == 2 ? 0 : 1);
        }
        by_pid_1();
        exit(getpid() == 1 && waitpid(second, &status, 0) == second && status == 0 ? 0 : 2);
    }
    by_outer();
    if (child < 0 || waitpid(child, &status, 0) != child || status)
        return 1;
    return say_ok();
}
