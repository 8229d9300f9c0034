/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: children that the program did not make
 * Symptom: names are put into a dump by a process that the program gets a SIGCHLD for, and finds by waitpid(-1); a
 *     shell or a server that waits for "any child" takes it for one of its own
 * Right: exit 0, stdout "ok": five dumps, each with time to be completed: no SIGCHLD, waitpid says ECHILD. The program
 *     then executes itself: the next one has no child either.
 *
 * ENV CPROF_SIGNAL=USR2
 * ENV CPROF_SYMBOLIZE=on
 * EXPECT timeout 20
 * EXPECT profiles 7
 */
#include "tests/corpus/case.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>

static volatile sig_atomic_t signals;

static void on_child(int number) {
    signals += number == SIGCHLD;
}

NOINLINE static void *noted_leaf(void) {
    void *p = malloc(1000000);
    KEEP(p);
    return p;
}

static int has_child(void) {
    int status;
    errno = 0;
    return waitpid(-1, &status, WNOHANG) != -1 || errno != ECHILD;
}

/* Long enough for names to be put in; whoever did it would be a zombie then. */
static int any_child(void) {
    for (int i = 0; i < 30; i++) {
        usleep(10000);
        if (has_child())
            return 1;
    }
    return 0;
}

int main(int argc, char **argv) {
    struct sigaction action = {.sa_handler = on_child, .sa_flags = SA_RESTART};
    char again[] = "again", *arguments[] = {argv[0], again, NULL};
    sigaction(SIGCHLD, &action, NULL);
    if (argc > 1) {
        free(noted_leaf());
        return any_child() ? 2 : say_ok();
    }
    for (int i = 0; i < 5; i++) {
        for (int k = 0; k < 5; k++)
            free(noted_leaf());
        if (getenv("CPROF_SIGNAL"))
            raise(SIGUSR2);
        if (any_child() || signals)
            return 1;
    }
    execv("/proc/self/exe", arguments);
    return 3;
}
