/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: an allocator in a library that the program is linked with
 * Symptom: the tool looks for the real malloc in libc and goes round the allocator that the program chose
 * Right: exit 0, stdout "ok": a library defines the whole family on a pool of its own; with the tool in front every
 *     block still comes from there, and all is counted.
 *
 * BUILD $CC -shared -fPIC -DLIB -fno-builtin $SRC -o $BIN.so
 * BUILD $CC $SRC -o $BIN $BIN.so -Wl,-rpath,'$ORIGIN'
 * EXPECT func from_the_pool 1000 70000 0 0
 * EXPECT func resized_in_the_pool 1000 140000 0 0
 */
#include "tests/corpus/case.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

int is_from_pool(const void *p);
void *malloc(size_t n);
void *calloc(size_t n, size_t size);
void *realloc(void *p, size_t n);
void *memalign(size_t align, size_t n);
void *aligned_alloc(size_t align, size_t n);
int posix_memalign(void **p, size_t align, size_t n);
size_t malloc_usable_size(void *p);
void free(void *p);

#ifdef LIB
static char pool[16 << 20] __attribute__((aligned(4096)));
static size_t used;

int is_from_pool(const void *p) {
    return (const char *)p >= pool && (const char *)p < pool + sizeof pool;
}

static void *take(size_t align, size_t n) {
    size_t at = (used + 16 + align - 1) & ~(align - 1);
    if (n > sizeof pool || at + n > sizeof pool)
        return NULL;
    used = (at + n + 15) & ~15ul;
    *(size_t *)(pool + at - 16) = n;
    return pool + at;
}

static size_t size_of(const void *p) {
    return p ? *(const size_t *)((const char *)p - 16) : 0;
}

void *malloc(size_t n) {
    return take(16, n);
}

void *memalign(size_t align, size_t n) {
    return take(align, n);
}

void *calloc(size_t n, size_t size) {
    return take(16, n * size); /* never used before, so it is zero */
}

void free(void *p) {
    if (p && !is_from_pool(p))
        __builtin_trap();
}

void *realloc(void *p, size_t n) {
    void *q = take(16, n);
    if (p && q)
        memcpy(q, p, size_of(p) < n ? size_of(p) : n);
    return q;
}

size_t malloc_usable_size(void *p) {
    return size_of(p);
}

void *aligned_alloc(size_t align, size_t n) {
    return take(align, n);
}

int posix_memalign(void **p, size_t align, size_t n) {
    void *block = take(align < 16 ? 16 : align, n);
    if (!block)
        return 12;
    *p = block;
    return 0;
}
#else
NOINLINE static void *from_the_pool(void) {
    void *p = malloc(70);
    KEEP(p);
    return p;
}

NOINLINE static void *resized_in_the_pool(void *p) {
    void *q = realloc(p, 140);
    KEEP(q);
    return q;
}

int main(void) {
    for (int i = 0; i < 1000; i++) {
        void *p = from_the_pool();
        if (!is_from_pool(p) || malloc_usable_size(p) != 70)
            return 1;
        p = resized_in_the_pool(p);
        void *aligned = aligned_alloc(4096, 100);
        KEEP(aligned);
        if (!is_from_pool(p) || !is_from_pool(aligned) || (uintptr_t)aligned % 4096)
            return 2;
        free(p);
        free(aligned);
    }
    return say_ok();
}
#endif
