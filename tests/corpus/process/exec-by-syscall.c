/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: exec (syscall(SYS_execve) and syscall(SYS_execveat), as programs do that are older than libc's execveat)
 * Symptom: what a program allocated before it became another one is in no profile
 * Right: exit 0, stdout "ok". Each of the three that one process was, one after the other, leaves its profile; calls that fail
 *     return what the kernel says, and change nothing.
 *
 * EXPECT timeout 10
 * EXPECT func first 100 10000 100 10000
 * EXPECT func second 10 1000 10 1000
 * EXPECT func third 1 100 1 100
 * EXPECT profiles 3
 */
#include "tests/corpus/case.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

NOINLINE static void first(void) {
    for (int i = 0; i < 100; i++) {
        void *p = malloc(100);
        KEEP(p);
    }
}

NOINLINE static void second(void) {
    for (int i = 0; i < 10; i++) {
        void *p = malloc(100);
        KEEP(p);
    }
}

NOINLINE static void third(void) {
    void *p = malloc(100);
    KEEP(p);
}

int main(int argc, char **argv) {
    char *more[] = {argv[0], (char *)"x", argc > 1 ? (char *)"y" : NULL, NULL};
    if (argc == 1) {
        first();
        if (syscall(SYS_execve, "/nonexistent", more, environ) != -1 || errno != ENOENT)
            return 1;
        syscall(SYS_execve, "/proc/self/exe", more, environ);
        return 2;
    }
    if (argc == 2) {
        second();
        if (syscall(SYS_execveat, AT_FDCWD, "/nonexistent", more, environ, 0) != -1 || errno != ENOENT)
            return 3;
        int self = open("/proc/self/exe", O_PATH | O_CLOEXEC);
        syscall(SYS_execveat, self, "", more, environ, AT_EMPTY_PATH);
        return 4;
    }
    third();
    return say_ok();
}
