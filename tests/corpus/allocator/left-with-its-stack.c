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
#include "tests/corpus/case.h"
#include <setjmp.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
void *malloc(size_t n);
void free(void *p);
extern int raise_next;
#ifdef LIB
int raise_next;
static char pool[16 << 20] __attribute__((aligned(4096)));
static size_t used;
static void *take(size_t n) {
    if (raise_next) {
        raise_next = 0;
        raise(SIGUSR1);
    }
    size_t at = (used + 15) & ~15ul;
    if (n > sizeof pool || at + n > sizeof pool)
        return NULL;
    used = at + n;
    return pool + at;
}
void *malloc(size_t n) {
    return take(n);
}
void *calloc(size_t n, size_t s) {
    return take(n * s);
}
void *realloc(void *p, size_t n) {
    void *q = take(n);
    if (p && q)
        memcpy(q, p, n);
    return q;
}
void free(void *p) {
    (void)p;
}
void *memalign(size_t a, size_t n) {
    (void)a;
    return take(n);
}
#else
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
