/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: sigaltstack small stacks
 * Report: https://github.com/libunwind/libunwind/issues/935
 * Symptom: unwinding on an alternate signal stack overruns it: crash in the handler
 * Right: exit 0, stdout "ok". The handler runs on an alternate stack of 4096 bytes beyond what the kernel's frame takes
 *     (a guard page lies below), allocates and frees. The profiler fits into that.
 *
 * BUILD $CC -pthread $SRC -o $BIN
 * EXPECT timeout 5
 * EXPECT func on_sig 200 20000 0 0
 */
#include "tests/corpus/case.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#ifndef AT_MINSIGSTKSZ
#define AT_MINSIGSTKSZ 51
#endif
static volatile int n;

static void on_sig(int s) {
    (void)s;
    void *p = malloc(100);
    KEEP(p);
    free(p);
    n++;
}

static void *run(void *a) {
    size_t kern = getauxval(AT_MINSIGSTKSZ), want = ((kern ? kern : 2048) + 4096 + 4095) & ~4095ul;
    size_t body = (kern ? kern : 2048) + 4096;
    char *m = mmap(NULL, want + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (m == MAP_FAILED || mprotect(m, 4096, PROT_NONE))
        return (void *)1;
    /* the stack starts right above the guard page */
    stack_t ss = {.ss_sp = m + 4096, .ss_size = body & ~15ul};
    if (sigaltstack(&ss, NULL))
        return (void *)2;
    for (int i = 0; i < 100; i++)
        raise(SIGUSR1);
    return a;
}

int main(void) {
    struct sigaction a = {.sa_handler = on_sig, .sa_flags = SA_ONSTACK};
    sigaction(SIGUSR1, &a, NULL);
    void *r = run(NULL);
    if (r)
        return 3;
    pthread_t t;
    pthread_create(&t, NULL, run, NULL);
    pthread_join(t, &r);
    if (r || n != 200)
        return 4;
    return say_ok();
}
