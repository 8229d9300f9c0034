/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: a new-handler that allocates, under an allocator that brings operator new
 * Symptom: the handler's block is taken for the one that operator new gives, or not counted
 * Right: exit 0, stdout "ok": operator new gives 100 blocks of 100 bytes, each after a new-handler allocated
 *     and freed one of 7; all are counted
 *
 * BUILD $CXX -shared -fPIC -DLIB -fno-builtin $SRC -o $BIN.so
 * BUILD $CXX $SRC -o $BIN $BIN.so -Wl,-rpath,'$ORIGIN'
 * EXPECT under by_new 200 10700 100 10000
 */
#include "tests/corpus/case.h"
#include <new>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
extern "C" {
void *malloc(size_t n) noexcept;
void free(void *) noexcept;
extern int fail_next;
}
#ifdef LIB
static char pool[16 << 20] __attribute__((aligned(4096)));
static size_t used;
extern "C" int fail_next;
int fail_next;
static void *take(size_t n) {
    size_t at = (used + 15) & ~15ul;
    if (n > sizeof pool || at + n > sizeof pool)
        return NULL;
    used = at + n;
    return pool + at;
}
extern "C" void *malloc(size_t n) noexcept {
    return take(n);
}
extern "C" void *calloc(size_t n, size_t s) noexcept {
    return take(n * s);
}
extern "C" void *realloc(void *p, size_t n) noexcept {
    void *q = take(n);
    if (p && q)
        memcpy(q, p, n);
    return q;
}
extern "C" void free(void *p) noexcept {
    (void)p;
}
extern "C" void *memalign(size_t a, size_t n) noexcept {
    (void)a;
    return take(n);
}
void *operator new(size_t n) {
    for (;;) {
        void *p = fail_next ? NULL : take(n);
        if (p)
            return p;
        std::new_handler h = std::get_new_handler();
        if (!h)
            throw std::bad_alloc();
        h();
    }
}
void operator delete(void *p) noexcept {
    free(p);
}
void operator delete(void *p, size_t) noexcept {
    free(p);
}
#else
NOINLINE static void in_handler() {
    void *p = malloc(7);
    KEEP(p);
    free(p);
    fail_next = 0;
}
NOINLINE static void *by_new() {
    void *p = operator new(100);
    KEEP(p);
    return p;
}
int main() {
    std::set_new_handler(in_handler);
    for (int i = 0; i < 100; i++) {
        fail_next = 1;
        by_new();
    }
    return say_ok();
}
#endif
