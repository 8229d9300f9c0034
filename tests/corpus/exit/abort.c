/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: exit paths (abort)
 * Report: https://github.com/shadow/shadow/issues/1715
 * Symptom: a program that calls abort() hangs instead of dying under the interposed library
 * Right: killed by SIGABRT (status 134), stdout "ok", at once; 2 threads hold the allocator busy meanwhile. The
 *     program's SIGABRT handler runs first (it prints) and returns; the second raise kills.
 *
 * EXPECT exit 134
 * EXPECT timeout 5
 * EXPECT timing
 */
#include "tests/corpus/case.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

static void on_abrt(int s) {
    (void)s;
    (void)!write(1, "ok\n", 3);
}

static void *loop(void *a) {
    (void)a;
    for (;;) {
        void *p = malloc(100);
        KEEP(p);
        free(p);
    }
    return NULL;
}

int main(void) {
    struct rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
    signal(SIGABRT, on_abrt);
    pthread_t t[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&t[i], NULL, loop, NULL);
    usleep(50000);
    abort();
}
