/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: seccomp sandbox (calls that fail instead of killing)
 * Symptom: the tool repeats a refused call for ever, or takes the failure for its own end and the program's with it
 * Right: exit 5, stdout "ok": all but what malloc needs, writing to stdout and ending is refused with EPERM; the
 *     program allocates from many stacks, in two threads that were there before, and ends by exit.
 *
 * BUILD $CC -pthread $SRC -o $BIN
 * EXPECT exit 5
 * EXPECT timeout 10
 */
#include "tests/corpus/case.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#define ALLOW(name) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##name, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

static pthread_barrier_t started, closed;

NOINLINE static void *nest(int depth, size_t n) {
    void *p = depth ? nest(depth - 1, n) : malloc(n);
    KEEP(p);
    return p;
}

static void *run(void *arg) {
    pthread_barrier_wait(&started);
    pthread_barrier_wait(&closed);
    for (int i = 0; i < 5000; i++)
        free(nest(i % 60, 16 + (size_t)i));
    return arg;
}

int main(void) {
    struct sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        ALLOW(brk),
        ALLOW(mmap),
        ALLOW(munmap),
        ALLOW(mremap),
        ALLOW(futex),
        ALLOW(write),
        ALLOW(exit),
        ALLOW(exit_group),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
    };
    struct sock_fprog program = {sizeof rules / sizeof *rules, rules};
    pthread_t t[2];
    pthread_barrier_init(&started, NULL, 3);
    pthread_barrier_init(&closed, NULL, 3);
    for (int i = 0; i < 2; i++)
        pthread_create(&t[i], NULL, run, NULL);
    pthread_barrier_wait(&started);
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
        syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program))
        return 1;
    pthread_barrier_wait(&closed);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], NULL);
    for (int i = 0; i < 5000; i++)
        free(nest(i % 70, 16 + (size_t)i));
    return say_ok() ? 2 : 5;
}
