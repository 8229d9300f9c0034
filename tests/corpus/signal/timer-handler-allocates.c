/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: stack unwinding through signal frames (at any instruction)
 * Symptom: the interrupted function is in its prologue or epilogue, where only exact unwind tables lead on
 * Right: exit 0, stdout "ok": a timer's handler allocates 400 times, while the program computes in small functions,
 *     never in malloc. Every stack goes through the signal frame to the function that runs them all.
 *
 * EXPECT timeout 30
 * EXPECT timing
 * EXPECT func in_timer 400 12800 0 0
 * EXPECT under runs_them_all 400 12800 0 0
 */
#include "tests/corpus/case.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/time.h>

static volatile int ticks;

NOINLINE static void *in_timer(void) {
    void *p = malloc(32);
    KEEP(p);
    return p;
}

static void on_tick(int number) {
    (void)number;
    if (ticks < 400) {
        ticks++;
        free(in_timer());
    }
}

NOINLINE static long small(long n) {
    KEEP(n);
    return n * 3 + 1;
}

NOINLINE static long many_registers(long a, long b, long c, long d, long e, long f, long g) {
    long x = small(a), y = small(b), z = small(c), u = small(d), v = small(e);
    KEEP(x);
    return small(x + y + z + u + v + f + g);
}

NOINLINE static long recursive(int n) {
    long room[20];
    long *p = room;
    KEEP(p);
    p[n] = n ? recursive(n - 1) : 1;
    KEEP(p);
    return p[n] + small(n);
}

NOINLINE static long runs_them_all(void) {
    long sum = 0;
    for (long i = 0; ticks < 400; i++)
        sum += many_registers(i, i + 1, i + 2, i + 3, i + 4, i + 5, i + 6) + recursive((int)(i % 20));
    return sum;
}

int main(void) {
    struct itimerval often = {.it_interval = {.tv_usec = 500}, .it_value = {.tv_usec = 500}}, off = {0};
    struct sigaction action = {.sa_handler = on_tick, .sa_flags = SA_RESTART};
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
    long sum = runs_them_all();
    KEEP(sum);
    setitimer(ITIMER_REAL, &off, NULL);
    return say_ok();
}
