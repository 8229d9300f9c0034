/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: performance collapse (lock contention)
 * Report: https://github.com/gperftools/gperftools/issues/1151
 * Symptom: one lock around the recorder eats all processors as soon as many threads allocate
 * Right: exit 0, stdout "ok". 16 threads x 400000 malloc/free pairs, in a time that is of the same order as without the
 *     library (0.1 s on 2 cores).
 *
 * BUILD $CC -O2 -pthread $SRC -o $BIN
 * EXPECT timeout 20
 * EXPECT func hot_site 6400000 307200000 0 0
 */
#include "tests/corpus/case.h"

#include <pthread.h>
#include <stdlib.h>

NOINLINE static void *hot_site(void) {
    void *p = malloc(48);
    KEEP(p);
    return p;
}

static void *run(void *a) {
    for (int i = 0; i < 400000; i++)
        free(hot_site());
    return a;
}

int main(void) {
    pthread_t t[16];
    for (int i = 0; i < 16; i++)
        pthread_create(&t[i], NULL, run, NULL);
    for (int i = 0; i < 16; i++)
        pthread_join(t[i], NULL);
    return say_ok();
}
