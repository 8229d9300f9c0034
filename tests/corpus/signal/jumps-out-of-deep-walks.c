/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: siglongjmp out of a handler that interrupted the hooks, far down the stack
 * Symptom: what the tool was in the middle of counts as under way for ever; after a few of these there is no room for more,
 *     and the thread's stacks are cut from then on
 * Right: exit 0, stdout "ok": 20 jumps leave the library in the middle of its work, 200 frames of half a KiB
 *     down. What is allocated afterwards has its whole stack.
 *
 * EXPECT timing
 * EXPECT timeout 60
 * EXPECT snapshot
 * EXPECT func after_all_jumps 1000 4321000 0..1000 0..4321000
 * EXPECT under all_after 1000 4321000 0..1000 0..4321000
 */
#include "tests/corpus/case.h"

#include <link.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <ucontext.h>

static unsigned long low, high; /* the library's code */
static volatile int inside, armed;
static sigjmp_buf back;

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

/* Nothing of libc's is under way while the library runs. */
static void handler(int number, siginfo_t *info, void *context) {
    (void)info;
    unsigned long ip = (unsigned long)((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
    if (armed && ip >= low && ip < high) {
        armed = 0;
        inside++;
        siglongjmp(back, number);
    }
}

NOINLINE static void deep(int depth) {
    char room[512], *p = room;
    KEEP(p);
    if (depth)
        deep(depth - 1);
    while (!depth) {
        void *block = malloc(16);
        KEEP(block);
        free(block);
    }
    KEEP(p);
}

NOINLINE static void after_all_jumps(void) {
    void *p = malloc(4321);
    KEEP(p);
    free(p);
}

NOINLINE static void all_after(void) {
    for (int i = 0; i < 1000; i++)
        after_all_jumps();
}

int main(void) {
    struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
    struct itimerval often = {.it_interval = {.tv_usec = 300}, .it_value = {.tv_usec = 300}}, off = {0};
    dl_iterate_phdr(find, NULL);
    if (sigaction(SIGALRM, &action, NULL) || setitimer(ITIMER_REAL, &often, NULL))
        return 1;
    while (low && inside < 20)
        if (sigsetjmp(back, 1) == 0) {
            armed = 1;
            deep(200);
        }
    setitimer(ITIMER_REAL, &off, NULL);
    all_after();
    return say_ok();
}
