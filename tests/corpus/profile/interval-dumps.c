/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: time / duration fields; dumps at intervals
 * Report: https://github.com/google/tcmalloc/issues/226
 * Symptom: told to dump every 10 s, the profiler dumps once (and claims 50 years since the last dump), then at exit
 * Right: exit 0, stdout "ok" after about 2 s. Several dumps, each a whole profile, the last one exact. The program's
 *     sleeps are not cut short by a timer signal.
 *
 * BUILD $CC -pthread $SRC -o $BIN
 * ENV CPROF_INTERVAL=300ms
 * EXPECT timeout 10
 * EXPECT func interval_leaf 2000 200000 0 0
 * EXPECT dumps 4..8
 */
#include "tests/corpus/case.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

NOINLINE static void *interval_leaf(void) {
    void *p = malloc(100);
    KEEP(p);
    return p;
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec * 1e-9;
}

int main(void) {
    double t0 = now();
    for (int r = 0; r < 20; r++) {
        for (int i = 0; i < 100; i++)
            free(interval_leaf());
        struct timespec d = {0, 100000000};
        if (nanosleep(&d, NULL))
            return 1; /* EINTR: somebody's timer signal hit us */
    }
    if (usleep(1000))
        return 2;
    double t = now() - t0;
    if (t < 1.99 || t > 8)
        return 3;
    return say_ok();
}
