/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: signal handlers (the program uses the same signal as the profiler)
 * Report: https://github.com/gperftools/gperftools/issues/1402
 * Symptom: a profiler told to use a signal the program uses too; one of the two stops working
 * Right: exit 0, stdout "ok". The program installs its own handler for SIGUSR2, which is the dump signal: its handler
 *     wins, runs exactly once per signal (50), and sees its own sa_mask and flags in sigaction; the profile at exit is
 *     still written.
 *
 * ENV CPROF_SIGNAL=USR2
 * EXPECT timeout 10
 * EXPECT func app_handler_work 50 1600 0 0
 * EXPECT profiles 1
 */
#include "tests/corpus/case.h"

#include <signal.h>
#include <stdlib.h>

static volatile int n, pending;

static void h(int s) {
    (void)s;
    n++;
    pending++;
}

NOINLINE static void *app_handler_work(void) {
    void *p = malloc(32);
    KEEP(p);
    return p;
}

int main(void) {
    struct sigaction a = {.sa_handler = h, .sa_flags = SA_RESTART}, b;
    sigaddset(&a.sa_mask, SIGHUP);
    if (sigaction(SIGUSR2, &a, NULL) || sigaction(SIGUSR2, NULL, &b))
        return 1;
    if (b.sa_handler != h || !sigismember(&b.sa_mask, SIGHUP) || !(b.sa_flags & SA_RESTART))
        return 2;
    for (int i = 0; i < 50; i++) {
        raise(SIGUSR2);
        while (pending) {
            pending--;
            free(app_handler_work());
        }
    }
    if (n != 50)
        return 3;
    return say_ok();
}
