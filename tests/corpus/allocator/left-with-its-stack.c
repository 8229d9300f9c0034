/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: an allocator that a signal handler leaves by siglongjmp, from a coroutine's stack to the one right
 *     below it; the first is unmapped
 * Symptom: SIGSEGV at the next allocation: what was remembered of the one that was left is looked at
 * Right: exit 0, stdout "ok": 100 blocks are allocated then, and counted
 *
 * BUILD $CC -shared -fPIC -DLIB -fno-builtin $SRC -o $BIN.so
 * BUILD $CC -U_FORTIFY_SOURCE $SRC -o $BIN $BIN.so -Wl,-rpath,'$ORIGIN'
 * EXPECT func after 100 10000 100 10000
 */
#include "tests/corpus/allocator/interrupted.h"
#include "tests/corpus/case.h"

#include <setjmp.h>
#include <sys/mman.h>
#include <ucontext.h>

#ifndef LIB
static sigjmp_buf jb;
static ucontext_t m, lo, hi;
static char *st;
static void handler(int s) {
    (void)s;
    siglongjmp(jb, 1);
}
NOINLINE static void after(void) {
    void *p = malloc(100);
    KEEP(p);
}
static void upper(void) {
    raise_next = 1;
    void *p = malloc(5);
    KEEP(p);
}
static void lower(void) {
    if (!sigsetjmp(jb, 1))
        swapcontext(&lo, &hi);
    munmap(st + 65536, 65536);
    for (int i = 0; i < 100; i++)
        after();
    swapcontext(&lo, &m);
}
int main(void) {
    signal(SIGUSR1, handler);
    st = mmap(0, 131072, 3, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    getcontext(&lo);
    lo.uc_stack.ss_sp = st;
    lo.uc_stack.ss_size = 65536;
    makecontext(&lo, lower, 0);
    getcontext(&hi);
    hi.uc_stack.ss_sp = st + 65536;
    hi.uc_stack.ss_size = 65536;
    makecontext(&hi, upper, 0);
    swapcontext(&m, &lo);
    return say_ok();
}
#endif
