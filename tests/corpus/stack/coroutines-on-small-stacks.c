/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: coroutines / ucontext / makecontext stacks
 * Report: https://github.com/tarantool/tarantool/pull/6889
 * Symptom: unwinding a fiber does not stop at the fiber's start but reads on above its stack: garbage or crash
 * Right: exit 0, stdout "ok". 200 coroutines with 16 KiB stacks, each with an unreadable page directly below AND above
 *     its stack, allocate between switches. No crash although the thread's stack bounds do not hold for sp.
 *
 * EXPECT timeout 20
 * EXPECT func fiber_work 2000 80000 0 0
 * EXPECT stack fiber_work<-fiber_main
 */
#include "tests/corpus/case.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>

#define N 200

static ucontext_t main_c, co[N];
static int done;

NOINLINE static void *fiber_work(void) {
    void *p = malloc(40);
    KEEP(p);
    return p;
}

static void fiber_main(int i) {
    for (int k = 0; k < 10; k++) {
        void *p = fiber_work();
        swapcontext(&co[i], &main_c);
        free(p);
    }
    done++;
}

int main(void) {
    for (int i = 0; i < N; i++) {
        char *m = mmap(NULL, 16384 + 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (m == MAP_FAILED || mprotect(m + 4096, 16384, PROT_READ | PROT_WRITE))
            return 1;
        getcontext(&co[i]);
        co[i].uc_stack.ss_sp = m + 4096;
        co[i].uc_stack.ss_size = 16384;
        co[i].uc_link = &main_c;
        makecontext(&co[i], (void (*)(void))fiber_main, 1, i);
    }
    for (int k = 0; k < 11; k++)
        for (int i = 0; i < N; i++)
            swapcontext(&main_c, &co[i]);
    if (done != N)
        return 2;
    return say_ok();
}
