/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: ENOMEM and errno preservation
 * Report: https://github.com/DynamoRIO/drmemory/issues/1273
 * Symptom: errno is not what the caller expects after an allocation call: not set on failure, or changed on success
 * Right: exit 0, stdout "ok". Successful malloc, calloc, realloc, memalign, free leave errno alone, in new threads and
 *     at fresh stacks too (where the profiler does its rare, system-call-making work); a failing malloc sets ENOMEM.
 *
 * BUILD $CC -pthread $SRC -o $BIN
 * EXPECT timeout 10
 * EXPECT func keep_errno 24000 2400000 0 0
 */
#include "tests/corpus/case.h"

#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>

NOINLINE static int keep_errno(int d) {
    if (d) {
        int r = keep_errno(d - 1);
        KEEP(r);
        return r;
    }
    int bad = 0;
    errno = 4321;
    void *a = malloc(100);
    KEEP(a);
    bad |= errno != 4321;
    errno = 4322;
    void *b = calloc(1, 100);
    KEEP(b);
    bad |= errno != 4322;
    errno = 4323;
    a = realloc(a, 100);
    KEEP(a);
    bad |= errno != 4323;
    errno = 4324;
    void *c = memalign(64, 100);
    KEEP(c);
    bad |= errno != 4324;
    errno = 4325;
    free(a);
    free(b);
    free(c);
    free(NULL);
    bad |= errno != 4325;
    return bad;
}

static void *run(void *a) {
    for (int i = 0; i < 1000; i++)
        if (keep_errno(i % 100))
            return (void *)1;
    return a;
}

int main(void) {
    pthread_t t[5];
    void *r;
    volatile size_t huge = (size_t)1 << 62;
    for (int i = 0; i < 5; i++)
        pthread_create(&t[i], NULL, run, NULL);
    if (run(NULL))
        return 1;
    for (int i = 0; i < 5; i++) {
        pthread_join(t[i], &r);
        if (r)
            return 2;
    }
    errno = 0;
    void *p = malloc(huge);
    KEEP(p);
    if (p || errno != ENOMEM)
        return 3;
    return say_ok();
}
