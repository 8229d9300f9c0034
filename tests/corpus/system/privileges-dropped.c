/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: setuid / setgid (a server that drops its privileges)
 * Symptom: what the tool made as root can't be opened, written or removed as another user
 * Right: exit 0, stdout "ok": a program becomes nobody and goes on; its profile, in a folder that nobody may write to,
 *     is exact. A child that it forks then has one, too.
 *
 * NEEDS root
 * EXPECT profiles 2
 * EXPECT func as_nobody 100 3300 100 3300
 * EXPECT func child_of_nobody 10 340 10 340
 */
#include "tests/corpus/case.h"

#include <grp.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>

static void *held[110];

NOINLINE static void *as_nobody(void) {
    void *p = malloc(33);
    KEEP(p);
    return p;
}

NOINLINE static void *child_of_nobody(void) {
    void *p = malloc(34);
    KEEP(p);
    return p;
}

int main(void) {
    int status;
    if (chmod(getenv("TMPDIR"), 0777) || setgroups(0, NULL) || setresgid(65534, 65534, 65534) ||
        setresuid(65534, 65534, 65534))
        return 1;
    for (int i = 0; i < 100; i++)
        held[i] = as_nobody();
    pid_t child = fork();
    if (child == 0) {
        for (int i = 100; i < 110; i++)
            held[i] = child_of_nobody();
        exit(0);
    }
    if (child < 0 || waitpid(child, &status, 0) != child || status)
        return 2;
    return say_ok();
}
