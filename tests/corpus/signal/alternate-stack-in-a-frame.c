/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: sigaltstack (an alternate stack that is an array of main's)
 * Symptom: a handler runs at a higher address than what it interrupted, and the walk that the tool was in the middle of is
 *     taken for one that was left: two stacks are mixed
 * Right: exit 0, stdout "ok": a timer's handler that interrupts the library itself allocates on an alternate stack in main's
 *     frame, 200 times. Each of these blocks is under all of the handler's functions, and none of the others is.
 *
 * EXPECT timing
 * EXPECT timeout 60
 * EXPECT func handler_leaf 200 15400 0 0
 * EXPECT under in_handler 200 15400 0 0
 * EXPECT under handler 200 15400 0 0
 */
#include "tests/corpus/case.h"

#include <link.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <ucontext.h>

static unsigned long low, high; /* the library's code */
static volatile int inside;

static int find(struct dl_phdr_info *info, size_t size, void *unused) {
    (void)size, (void)unused;
    for (int i = 0; strstr(info->dlpi_name, "libcprof.so") && i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        if (p->p_type == PT_LOAD && (p->p_flags & PF_X)) {
            low = info->dlpi_addr + p->p_vaddr;
            high = low + p->p_memsz;
        }
    }
    return 0;
}

NOINLINE static void handler_leaf(void) {
    void *p = malloc(77);
    KEEP(p);
    free(p);
}

NOINLINE static void in_handler(int depth) {
    if (depth)
        in_handler(depth - 1);
    else
        handler_leaf();
    KEEP(depth);
}

static void handler(int number, siginfo_t *info, void *context) {
    (void)number, (void)info;
    unsigned long ip = (unsigned long)((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
    if (ip >= low && ip < high && inside < 200) {
        inside++;
        in_handler(30);
    }
}

NOINLINE static void left(int depth, unsigned turns);
NOINLINE static void right(int depth, unsigned turns);

NOINLINE static void leaf(void) {
    void *p = malloc(16);
    KEEP(p);
    free(p);
}

#define RUNG(name)                                            \
    static void name(int depth, unsigned turns) {             \
        if (!depth)                                           \
            leaf();                                           \
        else                                                  \
            (turns & 1 ? left : right)(depth - 1, turns / 2); \
        KEEP(depth);                                          \
    }
RUNG(left)
RUNG(right)

int main(void) {
    char alternate[32768];
    stack_t s = {.ss_sp = alternate, .ss_size = sizeof alternate};
    struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    struct itimerval often = {.it_interval = {.tv_usec = 200}, .it_value = {.tv_usec = 200}}, off = {0};
    unsigned turns = 1;
    dl_iterate_phdr(find, NULL);
    if (sigaltstack(&s, NULL) || sigaction(SIGALRM, &action, NULL) || setitimer(ITIMER_REAL, &often, NULL))
        return 1;
    while (low && inside < 200) {
        turns = turns * 1103515245 + 12345;
        left(60, turns);
    }
    setitimer(ITIMER_REAL, &off, NULL);
    return say_ok();
}
