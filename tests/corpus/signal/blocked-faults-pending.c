/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: SIGSEGV, SIGBUS, SIGILL and SIGFPE blocked and pending, when a profile is written
 * Symptom: they are let through meanwhile, and end the program
 * Right: exit 0, stdout "ok": with all signals blocked and raised the program allocates and ends; one of them
 *     can be taken by sigtimedwait at the end
 *
 * BUILD $CC $SRC -o $BIN
 * EXPECT func leaf 1000 100000 0 0
 */
#include "tests/corpus/case.h"

#include <signal.h>
#include <stdlib.h>
#include <time.h>

NOINLINE static void leaf(void) {
    void *p = malloc(100);
    KEEP(p);
    free(p);
}

int main(void) {
    static const int faults[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGSYS};
    sigset_t all, bus;
    struct timespec none = {0, 0};
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    for (unsigned i = 0; i < sizeof faults / sizeof *faults; i++)
        raise(faults[i]);
    for (int i = 0; i < 1000; i++)
        leaf();
    sigemptyset(&bus);
    sigaddset(&bus, SIGBUS);
    return sigtimedwait(&bus, NULL, &none) == SIGBUS ? say_ok() : 3;
}
