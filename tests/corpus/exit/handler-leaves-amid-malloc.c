/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: exit paths (_exit in a signal handler that interrupted malloc)
 * Symptom: the handler of SIGTERM or SIGALRM ends the process while the interrupted code is inside the tool: it waits
 *     for itself
 * Right: exit 5, stdout "ok": a timer interrupts a program that does nothing but allocate, and the handler calls _exit.
 *     No hang; a profile.
 *
 * EXPECT exit 5
 * EXPECT timing
 * EXPECT snapshot
 * EXPECT profiles 1
 * EXPECT func before_handler 10 1000 10 1000
 */
#include "tests/corpus/case.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/time.h>

static void *held[10];

NOINLINE static void *before_handler(void) {
    void *p = malloc(100);
    KEEP(p);
    return p;
}

NOINLINE static void *nest(int depth, size_t n) {
    void *p = depth ? nest(depth - 1, n) : malloc(n);
    KEEP(p);
    return p;
}

static void leave(int number) {
    (void)number;
    say_ok();
    _exit(5);
}

int main(void) {
    struct itimerval in = {.it_value = {.tv_usec = 50000 + (getpid() * 7919) % 20000}};
    for (int i = 0; i < 10; i++)
        held[i] = before_handler();
    signal(SIGALRM, leave);
    setitimer(ITIMER_REAL, &in, NULL);
    for (unsigned i = 0;; i++)
        free(nest((int)(i % 37), 16 + i % 3000));
}
