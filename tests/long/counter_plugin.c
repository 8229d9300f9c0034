/* SPDX-License-Identifier: Apache-2.0 */
/* Preloaded behind the profiler: counts what comes to it, for comparison with what the profiler counted. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>

#define EXPORT __attribute__((visibility("default")))

static uint64_t bytes, calls;

static void *count(void *p, size_t size) {
    if (p) {
        __atomic_add_fetch(&bytes, size, __ATOMIC_RELAXED);
        __atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED);
    }
    return p;
}

/* What malloc's family is called by within libc can't be replaced, and needs no looking up. */
extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t), *__libc_valloc(size_t), *__libc_pvalloc(size_t);

EXPORT void counter_totals(uint64_t totals[2]);
void counter_totals(uint64_t totals[2]) {
    totals[0] = __atomic_load_n(&bytes, __ATOMIC_RELAXED);
    totals[1] = __atomic_load_n(&calls, __ATOMIC_RELAXED);
}

EXPORT void *malloc(size_t size) {
    return count(__libc_malloc(size), size);
}
EXPORT void *calloc(size_t n, size_t size) {
    return count(__libc_calloc(n, size), n * size);
}
EXPORT void *realloc(void *p, size_t size) {
    return count(__libc_realloc(p, size), size);
}
EXPORT void *memalign(size_t align, size_t size);
void *memalign(size_t align, size_t size) {
    return count(__libc_memalign(align, size), size);
}
EXPORT void *aligned_alloc(size_t align, size_t size) {
    return memalign(align, size);
}
EXPORT int posix_memalign(void **p, size_t align, size_t size) {
    void *block = __libc_memalign(align, size);
    if (!block)
        return 12; /* ENOMEM */
    *p = count(block, size);
    return 0;
}
EXPORT void *valloc(size_t size) {
    return count(__libc_valloc(size), size);
}
EXPORT void *pvalloc(size_t size);
void *pvalloc(size_t size) {
    return count(__libc_pvalloc(size), size);
}
