/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: address space
 * Symptom: a program that limits its own address space finds it used up by what the tool has reserved: malloc fails
 * Right: exit 0, stdout "ok": with RLIMIT_AS at 1 GiB, set by each of the functions for it in a child of its own,
 *     700 blocks of 1 MiB can be had, and all are in the profile.
 *
 * EXPECT under take 700 734003200 700 734003200
 * EXPECT profiles 5
 */
#include "tests/corpus/case.h"

#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>

NOINLINE static char *take(void) {
    char *p = malloc(1 << 20);
    KEEP(p);
    return p;
}

static int limit(int how) {
    struct rlimit at = {1ul << 30, 1ul << 30};
    struct rlimit64 at64 = {1ul << 30, 1ul << 30};
    switch (how) {
    case 0:
        return setrlimit(RLIMIT_AS, &at);
    case 1:
        return setrlimit64(RLIMIT_AS, &at64);
    case 2:
        return prlimit(0, RLIMIT_AS, &at, NULL);
    default:
        return prlimit64(0, RLIMIT_AS, &at64, NULL);
    }
}

static void live_within(int how) {
    if (limit(how))
        exit(1);
    for (int i = 0; i < 700; i++) {
        char *p = take();
        if (!p)
            exit(2);
        *p = 1;
    }
    exit(0);
}

int main(void) {
    int status;
    for (int how = 0; how < 4; how++) {
        pid_t child = fork();
        if (child == 0)
            live_within(how);
        if (waitpid(child, &status, 0) != child || status != 0)
            return 1 + how;
    }
    return say_ok();
}
