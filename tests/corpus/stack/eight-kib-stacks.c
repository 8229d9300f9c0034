/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: coroutines / ucontext (stacks of 8 KiB)
 * Symptom: what the tool needs of the caller's stack is more than small stacks have
 * Right: exit 0, stdout "ok": 300 coroutines on 8 KiB each, with unreadable pages on both sides, allocate, resize and
 *     free at a depth of 10 calls.
 *
 * BUILD $CC -Wl,-z,now $SRC -o $BIN
 * EXPECT func on_eight_kib 3000 90000 0 0
 */
#include "tests/corpus/case.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>

#define COUNT 300
static ucontext_t scheduler, coroutine[COUNT];
static int done;

NOINLINE static void *on_eight_kib(int depth) {
    void *p = depth ? on_eight_kib(depth - 1) : malloc(30);
    KEEP(p);
    return p;
}

static void body(int n) {
    for (int i = 0; i < 10; i++) {
        void *p = on_eight_kib(10);
        swapcontext(&coroutine[n], &scheduler);
        p = realloc(p, 100);
        KEEP(p);
        free(p);
    }
    done++;
}

int main(void) {
    for (int i = 0; i < COUNT; i++) {
        char *m = mmap(NULL, 16384, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (m == MAP_FAILED || mprotect(m + 4096, 8192, PROT_READ | PROT_WRITE))
            return 1;
        getcontext(&coroutine[i]);
        coroutine[i].uc_stack.ss_sp = m + 4096;
        coroutine[i].uc_stack.ss_size = 8192;
        coroutine[i].uc_link = &scheduler;
        makecontext(&coroutine[i], (void (*)(void))body, 1, i);
    }
    for (int k = 0; k < 11; k++)
        for (int i = 0; i < COUNT; i++)
            swapcontext(&scheduler, &coroutine[i]);
    return done == COUNT ? say_ok() : 2;
}
