/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: exit paths (the program's mask and pending signals)
 * Symptom: blocked signals that are pending are let through, or handled twice, because the tool changes the mask while
 *     it writes
 * Right: exit 0, stdout "ok": SIGXFSZ, SIGPIPE, SIGCHLD and SIGUSR1 are blocked and pending at exit; they are still so
 *     in the last handler, and none is delivered.
 *
 * EXPECT profiles 1
 * EXPECT func before_signals 100 1700 0 0
 */
#include "tests/corpus/case.h"

#include <signal.h>
#include <stdlib.h>

static const int numbers[] = {SIGXFSZ, SIGPIPE, SIGCHLD, SIGUSR1};

static void never(int number) {
    _exit(50 + number);
}

NOINLINE static void *before_signals(void) {
    void *p = malloc(17);
    KEEP(p);
    return p;
}

static void last(void) {
    sigset_t blocked, pending;
    sigprocmask(SIG_BLOCK, NULL, &blocked);
    sigpending(&pending);
    for (int i = 0; i < 4; i++)
        if (!sigismember(&blocked, numbers[i]) || !sigismember(&pending, numbers[i]))
            _exit(40 + i);
    say_ok();
}

int main(void) {
    sigset_t set;
    sigemptyset(&set);
    atexit(last);
    for (int i = 0; i < 4; i++) {
        signal(numbers[i], never);
        sigaddset(&set, numbers[i]);
    }
    sigprocmask(SIG_BLOCK, &set, NULL);
    for (int i = 0; i < 4; i++)
        raise(numbers[i]);
    for (int i = 0; i < 100; i++)
        free(before_signals());
    return 0;
}
