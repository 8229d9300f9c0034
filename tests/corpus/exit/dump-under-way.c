/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: exit while another thread writes a dump
 * Symptom: whoever finds that a profile is being written goes on and ends the process: no last profile, and a part of
 *     the other one stays under its temporary name
 * Right: exit 0, stdout "ok": the dump of another thread is under way when main ends. Each of twelve forked children
 *     has its last profile, whole, and nothing else is left.
 *
 * BUILD $CC -pthread $SRC -o $BIN
 * ENV CPROF_SIGNAL=USR2
 * ENV CPROF_OUT=prof.%e.%p.pb.gz
 * EXPECT timeout 30
 * EXPECT timing
 */
#include "tests/corpus/case.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

NOINLINE static void *nest(unsigned bits, int depth) {
    void *p = depth ? nest(bits >> 1, depth - 1) : malloc(16 + bits);
    KEEP(p);
    return p;
}

static void *dump(void *arg) {
    while (getenv("CPROF_SIGNAL"))
        raise(SIGUSR2);
    return arg;
}

/* Many sizes, so that writing takes a while. */
static void work_and_end(int i) {
    pthread_t t;
    for (unsigned k = 0; k < 5000; k++)
        free(nest(k << 6, 6));
    if (pthread_create(&t, NULL, dump, NULL))
        _exit(1);
    usleep((unsigned)i * 3000);
    exit(0);
}

int main(void) {
    char name[64];
    int status;
    for (int i = 0; i < 12; i++) {
        pid_t child = fork();
        if (child == 0)
            work_and_end(i);
        if (waitpid(child, &status, 0) != child || status != 0)
            return 1;
        snprintf(name, sizeof name, "prof.dump-under-way.%d.pb.gz", child);
        if (getenv("CPROF_SIGNAL") && access(name, R_OK))
            return 2;
    }
    return say_ok();
}
