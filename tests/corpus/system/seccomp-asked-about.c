/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: programs that ask what the kernel can do, and sandbox nothing
 * Report: https://github.com/seccomp/libseccomp (src/system.c asks in these ways)
 * Symptom: taken for a sandbox, so that nothing is written at the end
 * Right: exit 0, stdout "ok", a profile as ever: strict mode with flags, filters at NULL, and questions.
 *
 * EXPECT func asked 20 20000000 0 0
 * EXPECT profiles 1
 */
#include "tests/corpus/case.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

NOINLINE static void *asked(void) {
    void *p = malloc(1000000);
    KEEP(p);
    return p;
}

static int refused(long result, int how) {
    return result == -1 && errno == how;
}

int main(void) {
    uint32_t action = SECCOMP_RET_TRAP;
    struct seccomp_notif_sizes sizes;
    for (int i = 0; i < 20; i++)
        free(asked());
    if (prctl(PR_GET_SECCOMP) != 0)
        return 77; /* somebody else's filter */
    if (!refused(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, NULL, 0, 0), EFAULT))
        return 1;
    if (!refused(syscall(SYS_prctl, PR_SET_SECCOMP, SECCOMP_MODE_FILTER, NULL, 0, 0), EFAULT))
        return 2;
    if (!refused(syscall(SYS_seccomp, SECCOMP_SET_MODE_STRICT, 1, NULL), EINVAL))
        return 3;
    if (!refused(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, NULL), EFAULT))
        return 4;
    if (syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) != 0)
        return 5;
    if (syscall(SYS_seccomp, SECCOMP_GET_NOTIF_SIZES, 0, &sizes) != 0)
        return 6;
    return prctl(PR_GET_SECCOMP) == 0 ? say_ok() : 7;
}
