/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps 100 blocks of 1000 bytes by keep(), sets up a filter of system calls that kills for all but exit_group, by
 * prctl or by seccomp(2) as the argument says, and ends. */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ALLOW(name) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##name, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

static void *volatile kept;

__attribute__((noipa)) static void keep(void) {
    for (int i = 0; i < 100; i++)
        kept = malloc(1000);
}

int main(int argc, char **argv) {
    struct sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        ALLOW(exit_group),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
    };
    struct sock_fprog program = {sizeof rules / sizeof *rules, rules};
    keep();
    if (argc != 2 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
        return 1;
    long failed = strcmp(argv[1], "prctl") == 0 ? prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)
                                                : syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program);
    return failed ? 2 : 0;
}
