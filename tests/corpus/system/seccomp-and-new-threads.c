/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: seccomp sandbox (threads that start in it)
 * Symptom: a new thread's first allocation makes the tool call the kernel for its name, id or stack, which kills the
 *     process
 * Right: exit 0, stdout "ok": under a filter that kills for all but what malloc and pthread_create need, six threads
 *     start, allocate from new stacks and end.
 *
 * BUILD $CC -pthread $SRC -o $BIN
 * EXPECT timeout 10
 */
#include "tests/corpus/case.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#define ALLOW(name) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##name, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

static int done;

NOINLINE static void *nest(int depth, size_t n) {
    void *p = depth ? nest(depth - 1, n) : malloc(n);
    KEEP(p);
    return p;
}

static void *run(void *arg) {
    for (int i = 0; i < 500; i++) {
        void *p = nest(i % 50, 16 + (size_t)i);
        p = realloc(p, 3000);
        KEEP(p);
        free(p);
    }
    __atomic_add_fetch(&done, 1, __ATOMIC_RELEASE);
    return arg;
}

int main(void) {
    struct sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        ALLOW(brk),
        ALLOW(mmap),
        ALLOW(munmap),
        ALLOW(mremap),
        ALLOW(madvise),
        ALLOW(mprotect),
        ALLOW(futex),
        ALLOW(write),
        ALLOW(clone),
        ALLOW(clone3),
        ALLOW(set_robust_list),
        ALLOW(rseq),
        ALLOW(rt_sigprocmask),
        ALLOW(sched_getaffinity),
        ALLOW(exit),
        ALLOW(exit_group),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
    };
    struct sock_fprog program = {sizeof rules / sizeof *rules, rules};
    pthread_t t[3];
    free(nest(3, 100));
    /* The first thread makes libc install a handler. */
    pthread_create(&t[0], NULL, run, NULL);
    pthread_join(t[0], NULL);
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
        return 1;
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 3; i++)
            if (pthread_create(&t[i], NULL, run, NULL))
                syscall(SYS_exit_group, 2);
        for (int i = 0; i < 3; i++)
            pthread_join(t[i], NULL);
    }
    syscall(SYS_exit_group, done == 7 && say_ok() == 0 ? 0 : 3);
}
