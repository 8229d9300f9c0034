/* SPDX-License-Identifier: Apache-2.0 */
/* The interposed functions.
 *
 * Fast path of an allocation: call the next one, count the call, subtract the size from the thread's countdown, return.
 * Fast path of a free: one byte of the shadow map's filter. All else is record/'s. Order: a block is forgotten before the
 * real free and recorded after the real malloc, since in between the address may be another thread's.
 *
 * This file is compiled without use of rbp and of vector registers (see rules.mk). */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>

#include "preload/intercept/arena.h"
#include "preload/intercept/guard.h"
#include "preload/intercept/next.h"
#include "preload/record/record.h"

/* The declarations of these functions are libc's and the C++ compiler's. */
#pragma GCC diagnostic ignored "-Wmissing-prototypes"

#define EXPORT __attribute__((visibility("default")))
#define INLINE static inline __attribute__((always_inline))

HIDDEN void *record_entry(void *p, size_t size, void *return_address, void *cfa);
HIDDEN void hooks_record(void *p, size_t size, uintptr_t ra, uintptr_t cfa, uintptr_t bp);

void hooks_record(void *p, size_t size, uintptr_t ra, uintptr_t cfa, uintptr_t bp) {
    if (unlikely(guard_is_inner()))
        return;
    record_block(p, size, &(struct registers){.ip = ra - 1, .sp = cfa, .bp = bp});
}

INLINE void *allocated(void *p, size_t size) {
    if (unlikely(!p))
        return p;
    struct thread *t = thread_self;
    add_owned(&t->calls, 1);
    __asm__ goto("subq %1, %0\n\tjs %l[record]" : "+m"(t->countdown) : "er"(size) : "cc" : record);
    return p;
record:
    return record_entry(p, size, __builtin_return_address(0), __builtin_dwarf_cfa());
}

/* Before the real free: 1 if the block is the arena's and must not get there. */
static __attribute__((noinline)) int forget(void *p) {
    if (arena_owns(p))
        return 1;
    /* Most allocators look in front of the block first; the shadow map's miss and that one may as well overlap. */
    __builtin_prefetch((const char *)p - 16, 1);
    record_free(p);
    return 0;
}
/* A plain read of one byte: an atomic one would cost an instruction, and be the same. */
INLINE int freed(void *p) {
    return unlikely(*shadow_filter_at((uintptr_t)p)) && forget(p);
}

EXPORT void *malloc(size_t size) {
    return allocated(next.malloc(size), size);
}

EXPORT void free(void *p) {
    if (!freed(p))
        next.free(p);
}

EXPORT void cfree(void *p) {
    if (!freed(p))
        next.program_free(p);
}

EXPORT void free_sized(void *p, size_t size) {
    if (!freed(p))
        next.free_sized(p, size);
}

EXPORT void free_aligned_sized(void *p, size_t align, size_t size) {
    if (!freed(p))
        next.free_aligned_sized(p, align, size);
}

EXPORT void *calloc(size_t n, size_t size) {
    /* If the product overflows the call fails. */
    return allocated(next.calloc(n, size), n * size);
}

static __attribute__((noinline)) void *arena_realloc(void *p, size_t size) {
    void *q = next.malloc(size);
    size_t had = arena_size(p);
    for (size_t i = 0; q && i < had && i < size; i++)
        ((char *)q)[i] = ((const char *)p)[i];
    return q;
}

static __attribute__((noinline)) void *detached_realloc(void *p, size_t size) {
    if (arena_owns(p))
        return arena_realloc(p, size);
    uint32_t bucket = record_detach(p);
    void *q = next.realloc(p, size);
    /* A size of 0 frees the block and gives NULL under glibc; any other NULL leaves it as it was. */
    if (q || !size)
        record_detached_freed(bucket);
    else
        record_reattach(p, bucket);
    return q;
}
INLINE void *resized(void *p, size_t size) {
    if (p && unlikely(load_relaxed(shadow_filter_at((uintptr_t)p))))
        return detached_realloc(p, size);
    return next.realloc(p, size);
}

EXPORT void *realloc(void *p, size_t size) {
    return allocated(resized(p, size), size);
}

/* glibc's calls realloc, which would be recorded as a call of its own. */
EXPORT void *reallocarray(void *p, size_t n, size_t size) {
    size_t bytes;
    if (unlikely(next.reallocarray != NULL))
        return next.reallocarray(p, n, size);
    if (__builtin_mul_overflow(n, size, &bytes)) {
        errno = ENOMEM;
        return NULL;
    }
    return allocated(resized(p, bytes), bytes);
}

EXPORT int posix_memalign(void **p, size_t align, size_t size) {
    int ret = next.posix_memalign(p, align, size);
    if (likely(ret == 0))
        allocated(*p, size);
    return ret;
}

EXPORT void *aligned_alloc(size_t align, size_t size) {
    return allocated(next.aligned_alloc(align, size), size);
}

EXPORT void *memalign(size_t align, size_t size) {
    return allocated(next.memalign(align, size), size);
}

EXPORT void *valloc(size_t size) {
    return allocated(next.valloc(size), size);
}

EXPORT void *pvalloc(size_t size) {
    return allocated(next.pvalloc(size), size);
}

EXPORT size_t malloc_usable_size(void *p) {
    return arena_owns(p) ? arena_size(p) : next.malloc_usable_size(p);
}

EXPORT int dlclose(void *handle) {
    int ret = next.dlclose(handle);
    next_forget_operators();
    record_unloaded();
    return ret;
}

/* C++'s operators. Where they are the C++ library's and call malloc they are left with a jump. */
#define HOOK(name)
#define NEW(name)                                                                                                      \
    EXPORT void *name(size_t size, size_t a, size_t b) {                                                               \
        next_new *fn = next.name;                                                                                      \
        if (unlikely(!fn) && !(fn = next_operator(offsetof(struct next, name), #name)))                                \
            return malloc(size);                                                                                       \
        if (likely(!next.records_new) || !guard_owns(fn))                                                              \
            return fn(size, a, b);                                                                                     \
        return allocated(guard_new(fn, size, a, b), size);                                                             \
    }
#define DELETE(name)                                                                                                   \
    EXPORT void name(void *p, size_t a, size_t b, size_t c) {                                                          \
        next_delete *fn = next.name;                                                                                   \
        if (unlikely(!fn) && !(fn = next_operator(offsetof(struct next, name), #name))) {                              \
            free(p);                                                                                                   \
            return;                                                                                                    \
        }                                                                                                              \
        if (!(unlikely(next.records_new) && freed(p)))                                                                 \
            fn(p, a, b, c);                                                                                            \
    }
#include "preload/intercept/hooks.def"
