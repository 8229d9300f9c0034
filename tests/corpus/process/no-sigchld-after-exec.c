/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: signals that the program did not cause
 * Symptom: names are put into the profile of the program before an exec by a child, which ends when the next program
 *     runs: the kernel sends SIGCHLD for it then, whatever signal it was made with
 * Right: exit 0, stdout "ok": a program allocates and executes itself; the second one waits half a second with a
 *     handler for SIGCHLD, which is not called.
 *
 * ENV CPROF_SYMBOLIZE=on
 * EXPECT profiles 2
 */
#include "tests/corpus/case.h"

#include <signal.h>
#include <stdlib.h>

static volatile sig_atomic_t signals;

static void on_child(int number) {
    signals += number == SIGCHLD;
}

NOINLINE static void *noted_leaf(void) {
    void *p = malloc(1000000);
    KEEP(p);
    return p;
}

int main(int argc, char **argv) {
    char again[] = "again", *arguments[] = {argv[0], again, NULL};
    for (int i = 0; i < 20; i++)
        free(noted_leaf());
    if (argc == 1) {
        execv("/proc/self/exe", arguments);
        return 3;
    }
    signal(SIGCHLD, on_child);
    for (int i = 0; i < 50; i++)
        usleep(10000);
    return signals ? 1 : say_ok();
}
