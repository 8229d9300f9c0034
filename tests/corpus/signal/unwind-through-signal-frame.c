/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: stack unwinding through signal frames (malloc in a handler)
 * Report: https://github.com/libunwind/libunwind/pull/1059
 * Symptom: frames below a signal handler are lost or wrong when the interrupted pc is the first instruction of a
 *     function
 * Right: exit 0, stdout "ok". 500 synchronous signals (raise) and 500 traps (ud2 as the first instruction of a
 *     function), each handled by allocating; the interrupted code is never inside malloc. Stacks go through the signal
 *     frame: the handler's allocation lies under raiser, or under first_insn, and main.
 *
 * EXPECT timeout 10
 * EXPECT func on_usr1 500 50000 0 0
 * EXPECT func on_ill 500 35000 0 0
 * EXPECT stack on_usr1<-raiser<-main
 * EXPECT stack on_ill<-first_insn<-trapper<-main
 */
#include "tests/corpus/case.h"

#include <signal.h>
#include <stdlib.h>
#include <ucontext.h>

static volatile int n;

static void on_usr1(int s) {
    (void)s;
    void *p = malloc(100);
    KEEP(p);
    free(p);
    n++;
}

static void on_ill(int s, siginfo_t *i, void *c) {
    (void)s;
    (void)i;
    void *p = malloc(70);
    KEEP(p);
    free(p);
    n++;
    ((ucontext_t *)c)->uc_mcontext.gregs[REG_RIP] += 2;
}

void first_insn(void);
__asm__(".text\n.globl before_it\n.type before_it,@function\nbefore_it:\n.cfi_startproc\nret\n.cfi_endproc\n.size "
        "before_it,.-before_it\n"
        ".globl first_insn\n.type first_insn,@function\nfirst_insn:\n.cfi_startproc\nud2\nret\n.cfi_endproc\n.size "
        "first_insn,.-first_insn\n");

NOINLINE static void raiser(void) {
    raise(SIGUSR1);
    n += 0;
}

NOINLINE static void trapper(void) {
    first_insn();
    n += 0;
}

int main(void) {
    struct sigaction a = {.sa_sigaction = on_ill, .sa_flags = SA_SIGINFO};
    signal(SIGUSR1, on_usr1);
    sigaction(SIGILL, &a, NULL);
    for (int i = 0; i < 500; i++) {
        raiser();
        trapper();
    }
    if (n != 1000)
        return 1;
    return say_ok();
}
