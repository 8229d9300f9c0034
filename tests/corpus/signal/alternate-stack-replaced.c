/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: sigaltstack (stacks that come and go)
 * Symptom: bounds of an alternate stack are remembered beyond its end
 * Right: exit 0, stdout "ok": handlers that allocate run on an alternate stack of 256 KiB, which is then unmapped but
 *     for its lower 32 KiB, on which they run next.
 *
 * EXPECT func on_replaced_stack 800 20000 0 0
 */
#include "tests/corpus/case.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>

#define LARGE (256ul << 10)
#define SMALL (32ul << 10)

NOINLINE static void *on_replaced_stack(int depth) {
    void *p = depth ? on_replaced_stack(depth - 1) : malloc(25);
    KEEP(p);
    return p;
}

static void handler(int number) {
    (void)number;
    for (int i = 0; i < 10; i++)
        free(on_replaced_stack(i));
}

static int run_on(char *at, size_t size) {
    stack_t s = {.ss_sp = at, .ss_size = size}, off = {.ss_flags = SS_DISABLE};
    return sigaltstack(&s, NULL) == 0 && raise(SIGUSR1) == 0 && sigaltstack(&off, NULL) == 0;
}

int main(void) {
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_ONSTACK};
    sigaction(SIGUSR1, &action, NULL);
    char *at = mmap(NULL, LARGE + 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED)
        return 1;
    for (int i = 0; i < 40; i++) {
        if (mprotect(at, LARGE, PROT_READ | PROT_WRITE) || !run_on(at, LARGE))
            return 2;
        if (mprotect(at, LARGE, PROT_NONE) || mprotect(at, SMALL, PROT_READ | PROT_WRITE) || !run_on(at, SMALL))
            return 3;
        mprotect(at, LARGE, PROT_NONE);
    }
    return say_ok();
}
