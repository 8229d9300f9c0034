/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: fork in multithreaded programs
 * Report: https://github.com/gperftools/gperftools/issues/1425
 * Symptom: a child forked while another thread is inside the profiler inherits a locked heap-profiler lock and hangs
 * Right: exit 0, stdout "ok" within 60 s. 4 threads allocate without pause; main forks 100 children one after another;
 *     each child allocates and ends through exit(0). No child hangs. Every process that writes a profile writes its own
 *     file.
 *
 * BUILD $CC -pthread $SRC -o $BIN
 * EXPECT timeout 60
 * EXPECT timing
 * EXPECT func child_block 50 5000 0 0
 * EXPECT profiles 101
 */
#include "tests/corpus/case.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>

static volatile int stop;

NOINLINE static void *noise(int n) {
    void *p = malloc(n);
    KEEP(p);
    return p;
}

NOINLINE static void *child_block(void) {
    void *p = malloc(100);
    KEEP(p);
    return p;
}

static void *loop(void *a) {
    (void)a;
    int i = 0;
    while (!stop)
        free(noise(16 + (i++ & 1023)));
    return NULL;
}

int main(void) {
    pthread_t t[4];
    for (int i = 0; i < 4; i++)
        pthread_create(&t[i], NULL, loop, NULL);
    for (int i = 0; i < 100; i++) {
        pid_t p = fork();
        if (p < 0)
            return 1;
        if (p == 0) {
            for (int k = 0; k < 50; k++)
                free(child_block());
            exit(0);
        }
        int st;
        waitpid(p, &st, 0);
        if (!WIFEXITED(st) || WEXITSTATUS(st))
            return 2;
    }
    stop = 1;
    for (int i = 0; i < 4; i++)
        pthread_join(t[i], NULL);
    return say_ok();
}
