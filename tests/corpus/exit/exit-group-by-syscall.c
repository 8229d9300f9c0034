/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: exit paths (syscall(SYS_exit_group))
 * Symptom: a program that makes the system call by libc's syscall() leaves no profile behind, though one that calls _exit does
 * Right: exit status 7, stdout "ok", and a whole profile.
 *
 * EXPECT exit 7
 * EXPECT timeout 5
 * EXPECT func leaf_exit 1000 100000 1000 100000
 * EXPECT profiles 1
 */
#include "tests/corpus/case.h"

#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static void *keep[1000];

NOINLINE static void *leaf_exit(void) {
    void *p = malloc(100);
    KEEP(p);
    return p;
}

int main(void) {
    for (int i = 0; i < 1000; i++)
        keep[i] = leaf_exit();
    if (write(1, "ok\n", 3) != 3)
        return 1;
    syscall(SYS_exit_group, keep[999] ? 7 : 8);
}
