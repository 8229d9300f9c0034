/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: children that the program did not make
 * Symptom: a helper that the tool starts is reported to the program: SIGCHLD, a status from wait(), a pid that it does
 *     not know
 * Right: exit 0, stdout "ok": a program that adopts orphans (PR_SET_CHILD_SUBREAPER) and counts SIGCHLD sees its ten
 *     children end, whose profiles are symbolized, and nobody else.
 *
 * ENV CPROF_SYMBOLIZE=on
 * EXPECT timeout 20
 * EXPECT timing
 */
#include "tests/corpus/case.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>

static volatile sig_atomic_t signals;

static void on_child(int number) {
    signals += number == SIGCHLD;
}

int main(void) {
    pid_t children[10];
    int status;
    struct sigaction action = {.sa_handler = on_child, .sa_flags = SA_RESTART};
    sigaction(SIGCHLD, &action, NULL);
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    for (int i = 0; i < 10; i++) {
        children[i] = fork();
        if (children[i] == 0) {
            void *p = malloc(1000);
            KEEP(p);
            exit(i);
        }
        if (waitpid(children[i], &status, 0) != children[i] || !WIFEXITED(status) || WEXITSTATUS(status) != i)
            return 1;
    }
    /* Whoever was left behind by them would end in the meantime. */
    for (int i = 0; i < 20; i++)
        usleep(20000);
    pid_t stranger = waitpid(-1, &status, WNOHANG);
    if (stranger != -1 || errno != ECHILD)
        return 2;
    return signals == 10 ? say_ok() : 3;
}
