/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: daemonize (daemon(3): the caller ends inside libc, by a call of _exit that no preload sees)
 * Symptom: what a program allocated before it became a daemon is in no profile
 * Right: exit 0, stdout "ok". The first process leaves a whole profile, with before_daemon, and so does the daemon, which has
 *     those blocks as inherited and daemon_work as its own. A daemon() that fails changes nothing.
 *
 * NEEDS root
 * EXPECT timeout 10
 * EXPECT func before_daemon 100 10000 100 10000
 * EXPECT func daemon_work 200 20000 200 20000
 * EXPECT func failed 10 1000 10 1000
 * EXPECT func after_failure 10 1000 10 1000
 * EXPECT profiles 4
 */
#include "tests/corpus/case.h"

#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

NOINLINE static void before_daemon(void) {
    for (int i = 0; i < 100; i++) {
        void *p = malloc(100);
        KEEP(p);
    }
}

NOINLINE static void daemon_work(void) {
    for (int i = 0; i < 200; i++) {
        void *p = malloc(100);
        KEEP(p);
    }
}

NOINLINE static void failed(void) {
    for (int i = 0; i < 10; i++) {
        void *p = malloc(100);
        KEEP(p);
    }
}

NOINLINE static void after_failure(void) {
    for (int i = 0; i < 10; i++) {
        void *p = malloc(100);
        KEEP(p);
    }
}

/* As a user that may have no process but this one. */
static int cannot_fork(void) {
    struct rlimit none = {0, 0};
    failed();
    if (setresuid(4711, 4711, 0) != 0 || setrlimit(RLIMIT_NPROC, &none) != 0)
        return 0;
    if (daemon(1, 1) == 0)
        return 1;
    after_failure();
    return seteuid(0) != 0; /* that the profile may be written */
}

int main(void) {
    int status;
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    pid_t p = fork();
    if (p == 0) {
        before_daemon();
        if (daemon(1, 1) != 0)
            return 1;
        daemon_work();
        return 3;
    }
    if (p < 0 || waitpid(p, &status, 0) != p || status != 0)
        return 2;
    if (wait(&status) < 0 || !WIFEXITED(status) || WEXITSTATUS(status) != 3)
        return 4;
    p = fork();
    if (p == 0)
        return cannot_fork();
    if (p < 0 || waitpid(p, &status, 0) != p || status != 0)
        return 5;
    return say_ok();
}
