/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: posix_spawn (vfork inside libc)
 * Symptom: a tool that follows fork is misled by children that share the parent's memory until they exec, or whose exec
 *     fails
 * Right: exit 0, stdout "ok": 50 children are spawned with file actions and an own environment, half of them for
 *     programs that do not exist. Statuses are right and the parent's profile is exact.
 *
 * EXPECT func around_spawn 100 5000 0 0
 */
#include "tests/corpus/case.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>

NOINLINE static void *around_spawn(void) {
    void *p = malloc(50);
    KEEP(p);
    return p;
}

int main(void) {
    char *const arguments[] = {"sh", "-c", "exit 9", NULL}, *const environment[] = {"PATH=/bin", NULL};
    for (int i = 0; i < 50; i++) {
        posix_spawn_file_actions_t actions;
        pid_t child;
        int status;
        void *before = around_spawn();
        posix_spawn_file_actions_init(&actions);
        posix_spawn_file_actions_addopen(&actions, 5, "/dev/null", O_RDONLY, 0);
        posix_spawn_file_actions_adddup2(&actions, 5, 0);
        int error = posix_spawn(&child, i % 2 ? "/bin/sh" : "/no/such/program", &actions, NULL, arguments, environment);
        posix_spawn_file_actions_destroy(&actions);
        free(around_spawn());
        free(before);
        if (error != (i % 2 ? 0 : ENOENT))
            return 1;
        if (i % 2 && (waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status) != 9))
            return 2;
    }
    return say_ok();
}
