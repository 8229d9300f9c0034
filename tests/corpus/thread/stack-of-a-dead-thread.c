/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: thread stacks that are given by the program, and taken back
 * Symptom: what is known of a stack is kept beyond its end: another thread gets the same address with less behind it,
 *     and reading there faults
 * Right: exit 0, stdout "ok": threads run on stacks that the program maps and unmaps: first 256 KiB, then only the
 *     lower 64 KiB at the same address, with nothing readable above.
 *
 * BUILD $CC -pthread $SRC -o $BIN
 * EXPECT func on_lent_stack 4000 200000 0 0
 */
#include "tests/corpus/case.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>

#define LARGE (256ul << 10)
#define SMALL (64ul << 10)

NOINLINE static void *on_lent_stack(int depth) {
    void *p = depth ? on_lent_stack(depth - 1) : malloc(50);
    KEEP(p);
    return p;
}

static void *run(void *arg) {
    for (int i = 0; i < 50; i++)
        free(on_lent_stack(i));
    return arg;
}

static int run_on(char *stack, size_t size) {
    pthread_attr_t attr;
    pthread_t t;
    pthread_attr_init(&attr);
    return pthread_attr_setstack(&attr, stack, size) == 0 && pthread_create(&t, &attr, run, NULL) == 0 &&
           pthread_join(t, NULL) == 0;
}

int main(void) {
    char *at = mmap(NULL, LARGE + 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED)
        return 1;
    for (int i = 0; i < 40; i++) {
        if (mprotect(at, LARGE, PROT_READ | PROT_WRITE) || !run_on(at, LARGE))
            return 2;
        if (mprotect(at, LARGE, PROT_NONE) || mprotect(at, SMALL, PROT_READ | PROT_WRITE) || !run_on(at, SMALL))
            return 3;
        madvise(at, SMALL, MADV_DONTNEED);
        mprotect(at, LARGE, PROT_NONE);
    }
    return say_ok();
}
