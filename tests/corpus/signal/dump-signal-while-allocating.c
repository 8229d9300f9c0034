/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: signal handlers that dump (dump on a signal, again and again)
 * Report: https://github.com/pythonspeed/filprofiler/issues/365
 * Symptom: the second dump signal, arriving during the first dump, deadlocks or ends the process
 * Right: exit 0, stdout "ok". While 4 threads allocate, main sends the dump signal 210 times to the process and to
 *     single threads (pthread_kill). Every file written is whole; requests may be merged. Blocking calls are restarted:
 *     the read() below must return its byte. Without the setting the program sends none.
 *
 * BUILD $CC -pthread $SRC -o $BIN
 * ENV CPROF_SIGNAL=12
 * EXPECT timeout 60
 * EXPECT timing
 * EXPECT func sig_block 80000 3840000 0 0
 * EXPECT dumps 2..400
 * EXPECT snapshot
 */
#include "tests/corpus/case.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

static int fd[2];

NOINLINE static void *sig_block(void) {
    void *p = malloc(48);
    KEEP(p);
    return p;
}

static void *run(void *a) {
    for (int i = 0; i < 20000; i++) {
        free(sig_block());
        if ((i & 1023) == 0)
            usleep(1000);
    }
    return a;
}

static void *reader(void *a) {
    char c = 0;
    return read(fd[0], &c, 1) == 1 && c == 'r' ? a : (void *)1;
}

int main(void) {
    const char *s = getenv("CPROF_SIGNAL");
    int num = s ? atoi(s) : 0;
    pthread_t t[4], r;
    if (pipe(fd))
        return 1;
    pthread_create(&r, NULL, reader, NULL);
    for (int i = 0; i < 4; i++)
        pthread_create(&t[i], NULL, run, NULL);
    for (int i = 0; num && i < 100; i++) {
        kill(getpid(), num);
        pthread_kill(r, num);
        if (i < 10)
            pthread_kill(t[i & 3], num);
        usleep(i * 20);
    }
    void *x;
    for (int i = 0; i < 4; i++)
        pthread_join(t[i], &x);
    (void)!write(fd[1], "r", 1);
    pthread_join(r, &x);
    if (x)
        return 2;
    return say_ok();
}
