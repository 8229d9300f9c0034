/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: an allocator of the program that a signal handler leaves by siglongjmp
 * Symptom: what is allocated deeper on the stack later is taken for the allocator's own, and not counted
 * Right: exit 0, stdout "ok": after a jump out of malloc 100 blocks are allocated by functions with large
 *     frames that they do not write to, and each is counted
 *
 * BUILD $CC -shared -fPIC -DLIB -fno-builtin $SRC -o $BIN.so
 * BUILD $CC $SRC -o $BIN $BIN.so -Wl,-rpath,'$ORIGIN'
 * EXPECT func after 100 10000 100 10000
 */
#include "tests/corpus/case.h"
#include <setjmp.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
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
static void handler(int s) {
    (void)s;
    siglongjmp(jb, 1);
}
NOINLINE static void interrupted(void) {
    char b[2000];
    char *q = b;
    KEEP(q);
    raise_next = 1;
    void *p = malloc(5);
    KEEP(p);
}
NOINLINE static void *after(void) {
    char b[16000];
    char *q = b;
    KEEP(q);
    void *p = malloc(100);
    KEEP(p);
    return p;
}
int main(void) {
    signal(SIGUSR1, handler);
    if (!sigsetjmp(jb, 1))
        interrupted();
    for (int i = 0; i < 100; i++)
        after();
    return say_ok();
}
#endif
