/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: signal handlers (SIGPROF at 1 kHz with backtrace) while the program allocates
 * Symptom: a handler that walks the stack interrupts the tool, whose own walk holds a lock, or whose frames cannot be
 *     walked
 * Right: exit 0, stdout "ok": the handler calls backtrace() a thousand times a second, in whichever of three threads,
 *     for half a second of allocations. Every trace has at least two frames; the totals are exact.
 *
 * BUILD $CC -pthread $SRC -o $BIN -Wl,--export-dynamic
 * EXPECT timing
 * EXPECT timeout 30
 * EXPECT func under_timer 600000 * 0 0
 */
#include "tests/corpus/case.h"

#include <execinfo.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/time.h>

static int ticks, short_traces;

static void on_tick(int number) {
    void *frames[64];
    (void)number;
    if (backtrace(frames, 64) < 2)
        __atomic_add_fetch(&short_traces, 1, __ATOMIC_RELAXED);
    __atomic_add_fetch(&ticks, 1, __ATOMIC_RELAXED);
}

NOINLINE static void *under_timer(int depth, size_t n) {
    void *p = depth ? under_timer(depth - 1, n) : malloc(n);
    KEEP(p);
    return p;
}

static void *run(void *arg) {
    for (int i = 0; i < 200000; i++)
        free(under_timer(i % 30, 16 + (size_t)i % 1000));
    return arg;
}

int main(void) {
    void *first[4];
    pthread_t t[2];
    struct itimerval every = {.it_interval = {.tv_usec = 1000}, .it_value = {.tv_usec = 1000}}, off = {0};
    backtrace(first, 4); /* loads what it needs */
    struct sigaction action = {.sa_handler = on_tick, .sa_flags = SA_RESTART};
    sigaction(SIGPROF, &action, NULL);
    setitimer(ITIMER_PROF, &every, NULL);
    for (int i = 0; i < 2; i++)
        pthread_create(&t[i], NULL, run, NULL);
    run(NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], NULL);
    setitimer(ITIMER_PROF, &off, NULL);
    return short_traces ? 1 : say_ok();
}
