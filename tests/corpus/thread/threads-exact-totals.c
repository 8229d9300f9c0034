/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: multi-thread counter races / mismatch of totals
 * Report: https://github.com/arnaud-lb/php-memory-profiler/issues/10
 * Symptom: hooks that are not thread-safe crash or lose counts as soon as several threads allocate
 * Right: exit 0, stdout "ok" within 30 s (0.1 s without). 8 threads x 50000 blocks at one call site, one in ten kept:
 *     exact totals, summed over threads even if samples carry thread labels.
 *
 * BUILD $CC -pthread $SRC -o $BIN
 * EXPECT timeout 40
 * EXPECT timing
 * EXPECT func shared_site 400000 25600000 40000 2560000
 */
#include "tests/corpus/case.h"

#include <pthread.h>
#include <stdlib.h>

static void *keep[8][5000];

NOINLINE static void *shared_site(void) {
    void *p = malloc(64);
    KEEP(p);
    return p;
}

static void *run(void *a) {
    long t = (long)a;
    for (int i = 0; i < 50000; i++) {
        void *p = shared_site();
        if (i % 10 == 0)
            keep[t][i / 10] = p;
        else
            free(p);
    }
    return NULL;
}

int main(void) {
    pthread_t t[8];
    for (long i = 0; i < 8; i++)
        pthread_create(&t[i], NULL, run, (void *)i);
    for (int i = 0; i < 8; i++)
        pthread_join(t[i], NULL);
    return say_ok();
}
