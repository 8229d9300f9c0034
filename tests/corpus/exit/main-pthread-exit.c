/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: exit paths (pthread_exit from main; threads that outlive main)
 * Report: https://github.com/plasma-umass/coz/issues/227
 * Symptom: once main ends with pthread_exit the process never ends, since the profiler's own thread keeps it alive
 * Right: exit 0 within 5 s, stdout "ok": the process ends with status 0 when the last thread of the program does.
 *     Profile holds the work the threads did after main was gone.
 *
 * BUILD $CC -pthread $SRC -o $BIN
 * EXPECT timeout 8
 * EXPECT func after_main 300 30000 0 0
 */
#include "tests/corpus/case.h"

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

static int left = 3;

NOINLINE static void *after_main(void) {
    void *p = malloc(100);
    KEEP(p);
    return p;
}

static void *run(void *a) {
    usleep(200000 + 50000 * (long)a);
    for (int i = 0; i < 100; i++)
        free(after_main());
    if (__atomic_sub_fetch(&left, 1, __ATOMIC_SEQ_CST) == 0)
        (void)!write(1, "ok\n", 3);
    return NULL;
}

int main(void) {
    for (long i = 0; i < 3; i++) {
        pthread_t t;
        pthread_create(&t, NULL, run, (void *)i);
        pthread_detach(t);
    }
    pthread_exit(NULL);
}
