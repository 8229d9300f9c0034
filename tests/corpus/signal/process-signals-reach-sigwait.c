/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: signal handlers and masks (profiler's own threads take the program's signals)
 * Report: https://github.com/pocoproject/poco/issues/2978
 * Symptom: a process-directed signal is delivered to some other thread, so the sigwait loop never sees it
 * Right: exit 0, stdout "ok". The program blocks all signals in all its threads and takes them with sigwait. A preload
 *     that starts a thread before main must block every signal in it, else one of the 200 SIGTERM, SIGHUP, SIGALRM,
 *     SIGCHLD sent to the process kills it or is lost.
 *
 * BUILD $CC -pthread $SRC -o $BIN
 * ENV CPROF_INTERVAL=100ms
 * EXPECT timeout 10
 * EXPECT func waiter 200 12800 0 0
 */
#include "tests/corpus/case.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

static sigset_t all;
static int got, handled;

static void wrong(int s) {
    (void)s;
    handled++;
}

NOINLINE static void *waiter(void *a) {
    for (int i = 0; i < 200; i++) {
        int s;
        if (sigwait(&all, &s))
            return (void *)1;
        void *p = malloc(64);
        KEEP(p);
        free(p);
        __atomic_add_fetch(&got, 1, __ATOMIC_SEQ_CST);
    }
    return a;
}

int main(void) {
    const int sig[4] = {SIGTERM, SIGHUP, SIGALRM, SIGCHLD};
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, NULL);
    signal(SIGCHLD, wrong); /* the default action of SIGCHLD would hide a theft */
    pthread_t t;
    pthread_create(&t, NULL, waiter, NULL);
    for (int i = 0; i < 200; i++) {
        kill(getpid(), sig[i & 3]);
        for (int k = 0; k < 5000 && __atomic_load_n(&got, __ATOMIC_SEQ_CST) <= i; k++)
            usleep(500);
        if (__atomic_load_n(&got, __ATOMIC_SEQ_CST) <= i)
            return 2;
    }
    void *r;
    pthread_join(t, &r);
    if (r || handled)
        return 3;
    return say_ok();
}
