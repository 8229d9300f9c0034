/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: clone (CLONE_VM without CLONE_THREAD)
 * Report: https://github.com/DynamoRIO/dynamorio/issues/2089
 * Symptom: a tool that tells "new process" by pid takes a memory-sharing clone child for a fork child
 * Right: exit 0, stdout "ok". The child (CLONE_VM|CLONE_FS|CLONE_FILES|CLONE_VFORK, other pid, same memory and same
 *     TLS, parent suspended) allocates 300 blocks; the parent frees them. All are in the parent's profile; the child's
 *     _exit writes nothing and resets nothing.
 *
 * EXPECT timeout 10
 * EXPECT func in_clone 300 9000 0 0
 * EXPECT func in_parent 100 2000 0 0
 * EXPECT profiles 1
 */
#include "tests/corpus/case.h"

#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>

static void *blk[300];

NOINLINE static void in_clone(void) {
    for (int i = 0; i < 300; i++) {
        void *p = malloc(30);
        KEEP(p);
        blk[i] = p;
    }
}

NOINLINE static void *in_parent(void) {
    void *p = malloc(20);
    KEEP(p);
    return p;
}

static int child(void *a) {
    (void)a;
    in_clone();
    _exit(42);
}

int main(void) {
    char *stk = mmap(NULL, 1 << 18, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    if (stk == MAP_FAILED)
        return 1;
    for (int i = 0; i < 50; i++)
        free(in_parent());
    pid_t p = clone(child, stk + (1 << 18), CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_VFORK | SIGCHLD, NULL);
    int st;
    if (p < 0 || waitpid(p, &st, 0) < 0 || !WIFEXITED(st) || WEXITSTATUS(st) != 42)
        return 2;
    for (int i = 0; i < 300; i++)
        free(blk[i]);
    for (int i = 0; i < 50; i++)
        free(in_parent());
    return say_ok();
}
