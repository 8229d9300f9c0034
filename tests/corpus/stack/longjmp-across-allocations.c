/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: longjmp
 * Report: https://github.com/OP-TEE/optee_test/pull/348
 * Symptom: longjmp drops frames a call-tracking profiler still expects to return; the program goes astray
 * Right: exit 0, stdout "ok". 3000 longjmps from 1..50 frames down, right after allocating; and 500 siglongjmps out of
 *     a signal handler that allocated. After each jump a fresh stack is recorded truly: below is under main, not under
 *     frames that are gone.
 *
 * EXPECT timeout 10
 * EXPECT func jumper 3000 120000 0 0
 * EXPECT func below 3500 28000 0 0
 * EXPECT func on_sig 500 5000 0 0
 */
#include "tests/corpus/case.h"

#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>

static jmp_buf jb;
static sigjmp_buf sjb;
static void *volatile last;

NOINLINE static void jumper(int d) {
    if (d) {
        jumper(d - 1);
        KEEP(d);
        return;
    }
    void *p = malloc(40);
    KEEP(p);
    last = p;
    longjmp(jb, 1);
}

NOINLINE static void *below(void) {
    void *p = malloc(8);
    KEEP(p);
    return p;
}

static void on_sig(int s) {
    (void)s;
    void *p = malloc(10);
    KEEP(p);
    last = p;
    siglongjmp(sjb, 1);
}

int main(void) {
    signal(SIGUSR1, on_sig);
    for (volatile int i = 0; i < 3000; i++) {
        if (!setjmp(jb))
            jumper(1 + i % 50);
        free(last);
        free(below());
    }
    for (volatile int i = 0; i < 500; i++) {
        if (!sigsetjmp(sjb, 1))
            raise(SIGUSR1);
        free(last);
        free(below());
    }
    return say_ok();
}
