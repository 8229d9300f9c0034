/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: seccomp sandbox (filter that kills)
 * Report: https://github.com/gperftools/gperftools/issues/1275
 * Symptom: a sandboxed program is killed with SIGSYS because the preloaded library makes a system call of its own
 * Right: exit 0, stdout "ok", not status 159 (SIGSYS). After a warm-up the program allows only what glibc's malloc may
 *     need (brk, mmap, munmap, mremap, madvise, mprotect, futex), write and exit_group, allocates from 64 stacks and
 *     leaves by a bare exit_group. So the allocation path makes none of: open, read, pipe, mincore, msync,
 *     process_vm_readv, gettid, clock_gettime, sigprocmask, sched_yield, nanosleep.
 *
 * BUILD $CC -pthread $SRC -o $BIN
 * EXPECT timeout 5
 */
#include "tests/corpus/case.h"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define A(n) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##n, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

NOINLINE static void *nest(int d, int n) {
    void *p = d ? nest(d - 1, n) : malloc(n);
    KEEP(p);
    return p;
}

int main(void) {
    struct sock_filter f[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        A(brk),
        A(mmap),
        A(munmap),
        A(mremap),
        A(madvise),
        A(mprotect),
        A(futex),
        A(write),
        A(exit_group),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
    };
    struct sock_fprog p = {sizeof f / sizeof *f, f};
    for (int i = 0; i < 10; i++)
        free(nest(i, 100));
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &p))
        return 1;
    for (int r = 0; r < 200; r++)
        for (int d = 0; d < 64; d++) {
            void *x = nest(d, 16 + 97 * d);
            x = realloc(x, 200000);
            KEEP(x);
            free(x);
        }
    if (syscall(SYS_write, 1, "ok\n", 3) != 3)
        syscall(SYS_exit_group, 2);
    syscall(SYS_exit_group, 0);
}
