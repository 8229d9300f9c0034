/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: children of system() and popen()
 * Symptom: output of the tool in a pipe that the program reads, a status that is not the command's, or SIGCHLD from a
 *     child of the tool
 * Right: exit 0, stdout "ok": commands give their statuses and what they print, not a byte more; no child is left that
 *     is not the program's own.
 *
 * EXPECT timeout 20
 * EXPECT func before_command 40 800 0 0
 */
#include "tests/corpus/case.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

NOINLINE static void *before_command(void) {
    void *p = malloc(20);
    KEEP(p);
    return p;
}

int main(void) {
    for (int i = 0; i < 20; i++) {
        char text[256] = "";
        size_t n = 0;
        free(before_command());
        int status = system("exit 5");
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 5)
            return 1;
        free(before_command());
        FILE *f = popen("printf one; printf two >&2; (printf three; exit 4)", "r");
        dup2(1, 60);
        if (!f)
            return 2;
        n = fread(text, 1, sizeof text - 1, f);
        status = pclose(f);
        if (n != 8 || strcmp(text, "onethree") || !WIFEXITED(status) || WEXITSTATUS(status) != 4)
            return 3;
    }
    if (wait(NULL) != -1 || errno != ECHILD)
        return 4;
    return say_ok();
}
