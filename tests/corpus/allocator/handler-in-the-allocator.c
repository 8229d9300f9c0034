/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: a signal handler that allocates, while an allocator for which that is no harm is at work
 * Symptom: the handler's blocks are taken for the allocator's own, and not counted
 * Right: exit 0, stdout "ok": 1,000 allocations are each interrupted by a handler that allocates 7 bytes; both
 *     are counted, the handler's at the handler, below what it interrupted
 *
 * BUILD $CC -shared -fPIC -DLIB -fno-builtin $SRC -o $BIN.so
 * BUILD $CC $SRC -o $BIN $BIN.so -Wl,-rpath,'$ORIGIN'
 * EXPECT func in_handler 1000 7000 1000 7000
 * EXPECT under leaf 2000 107000 1000 7000
 */
#include "tests/corpus/case.h"

#include <signal.h>
#include <stddef.h>
#include <string.h>

void *malloc(size_t n);
void free(void *p);
extern int raise_next;

#ifdef LIB
static char pool[16 << 20] __attribute__((aligned(4096)));
static size_t used;
int raise_next;
static void *take(size_t n) {
    if (raise_next) {
        raise_next = 0;
        raise(SIGUSR1);
    }
    size_t at = __sync_fetch_and_add(&used, (n + 15) & ~15ul);
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
    if (p)
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
extern int raise_next;
NOINLINE static void in_handler(int s) {
    (void)s;
    void *p = malloc(7);
    KEEP(p);
}
NOINLINE static void leaf(void) {
    void *p = malloc(100);
    KEEP(p);
    free(p);
}
int main(void) {
    signal(SIGUSR1, in_handler);
    for (int i = 0; i < 1000; i++) {
        raise_next = 1;
        leaf();
    }
    return say_ok();
}
#endif
