/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: vfork
 * Report: https://github.com/google/sanitizers/issues/925
 * Symptom: the vfork child runs in the parent's memory; tool state changed there is found dirty by the parent
 * Right: exit 0, stdout "ok". 100 vfork children whose exec fails (_exit 127) and 20 whose exec works. The child is not
 *     a new profile owner: no profile is written by _exit in it, the parent's pid-dependent state (file name, "am I
 *     forked") is as before, and the parent's profile is whole and exact.
 *
 * EXPECT timeout 20
 * EXPECT func around_vfork 240 24000 0 0
 */
#include "tests/corpus/case.h"

#include <stdlib.h>
#include <sys/wait.h>

NOINLINE static void *around_vfork(void) {
    void *p = malloc(100);
    KEEP(p);
    return p;
}

NOINLINE static int one(const char *path) {
    char *const argv[] = {"x", NULL};
    pid_t p = vfork();
    if (p == 0) {
        execv(path, argv);
        _exit(127);
    }
    int st;
    if (p < 0 || waitpid(p, &st, 0) < 0)
        return -1;
    return WIFEXITED(st) ? WEXITSTATUS(st) : -1;
}

int main(void) {
    for (int i = 0; i < 120; i++) {
        void *a = around_vfork(), *b = around_vfork();
        free(a);
        if (one(i < 100 ? "/no/such/program" : "/bin/true") != (i < 100 ? 127 : 0))
            return 1;
        free(b);
    }
    return say_ok();
}
