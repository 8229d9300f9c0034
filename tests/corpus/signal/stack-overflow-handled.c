/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: stack overflow, handled on an alternate stack
 * Symptom: the tool's own use of the stack, or a walk over 8 MiB of it, does not end where the program's would
 * Right: exit 0, stdout "ok": 20 times a recursion that allocates overflows the stack; the handler allocates, on an
 *     alternate stack, and leaves by siglongjmp.
 *
 * EXPECT timeout 30
 * EXPECT func in_overflow_handler 20 600 0 0
 * EXPECT func after_overflow 20 800 0 0
 */
#include "tests/corpus/case.h"

#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>

static sigjmp_buf back;
static char alternate[65536];

NOINLINE static void *in_overflow_handler(void) {
    void *p = malloc(30);
    KEEP(p);
    return p;
}

NOINLINE static void *after_overflow(void) {
    void *p = malloc(40);
    KEEP(p);
    return p;
}

static void on_fault(int number) {
    free(in_overflow_handler());
    siglongjmp(back, number);
}

NOINLINE static int fall(int n) {
    char room[2000];
    char *p = room;
    KEEP(p);
    p[n % 2000] = 1;
    int r = fall(n + 1) + p[0];
    KEEP(r);
    return r;
}

int main(void) {
    stack_t s = {.ss_sp = alternate, .ss_size = sizeof alternate};
    struct sigaction action = {.sa_handler = on_fault, .sa_flags = SA_ONSTACK};
    struct rlimit small = {1 << 20, RLIM_INFINITY};
    getrlimit(RLIMIT_STACK, &small);
    small.rlim_cur = 1 << 20;
    setrlimit(RLIMIT_STACK, &small);
    sigaltstack(&s, NULL);
    sigaction(SIGSEGV, &action, NULL);
    for (volatile int i = 0; i < 20; i++) {
        if (!sigsetjmp(back, 1))
            fall(0);
        free(after_overflow());
    }
    return say_ok();
}
