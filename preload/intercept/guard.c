/* SPDX-License-Identifier: Apache-2.0 */
#include "preload/intercept/guard.h"

#include <stdint.h>

#include "preload/record/thread.h"

static struct next real;

/* The frame of the outermost of the allocator's functions that the thread is in, or 0; and in its lowest bit, whether the innermost
 * one's hook must not record. */
static __thread uintptr_t guard __attribute__((tls_model("initial-exec")));
#define INNER ((uintptr_t)1)

/* Farther apart than this on a stack they have nothing to do with each other. */
#define NEAR (256ul << 10)

/* A signal handler may have left the allocator by a longjmp. If the outermost function is still under way, it returns to a hook. */
#define HOOKS_SIZE (64ul << 10)
HIDDEN void hooks_record(void *p, size_t size, uintptr_t ra, uintptr_t cfa, uintptr_t bp);
static int is_under_way(const uintptr_t *frame) {
    return frame[1] - ((uintptr_t)hooks_record - HOOKS_SIZE) < 2 * HOOKS_SIZE;
}

int guard_installed;

int guard_ask(void) {
    int inner = (int)(guard & INNER);
    guard &= ~INNER;
    return inner;
}

/* `frame` is __builtin_frame_address(0) of a wrapper: [0] the caller's rbp, [1] the return address. */
static int is_inside_another(const uintptr_t *frame) {
    const uintptr_t *outer = (const uintptr_t *)(guard & ~INNER);
    return outer && frame < outer && (uintptr_t)outer - (uintptr_t)frame < NEAR && is_under_way(outer);
}

/* The block `p` was handed out to the allocator itself, whose hook will add a call and subtract `size`. */
static void discount(const void *p, size_t size) {
    if (!p)
        return;
    struct thread *t = thread_self;
    add_owned(&t->calls, (uint64_t)-1);
    add_owned((uint64_t *)&t->countdown, size);
    if (t->countdown < (int64_t)size) /* it will be negative again, and the hook look for what to record */
        guard |= INNER;
}

/* Every allocation of a program under another allocator passes the wrapper, so that keeps nothing across the call. What is
 * left to `late` is reached by a jump: its frame is where the wrapper's was. */
#define WRAPPER(type, name, parameters, arguments, size, block)                                                        \
    static __attribute__((noinline)) type late_##name parameters {                                                     \
        if (is_inside_another(__builtin_frame_address(0))) {                                                           \
            type got = real.name arguments;                                                                            \
            discount(block, size);                                                                                     \
            return got;                                                                                                \
        }                                                                                                              \
        guard = (uintptr_t)__builtin_frame_address(0);                                                                 \
        type got = real.name arguments;                                                                                \
        guard = 0;                                                                                                     \
        return got;                                                                                                    \
    }                                                                                                                  \
    static type guarded_##name parameters {                                                                            \
        if (unlikely(guard))                                                                                           \
            return late_##name arguments;                                                                              \
        guard = (uintptr_t)__builtin_frame_address(0);                                                                 \
        type got = real.name arguments;                                                                                \
        guard = 0;                                                                                                     \
        return got;                                                                                                    \
    }
WRAPPER(void *, malloc, (size_t size), (size), size, got)
WRAPPER(void *, calloc, (size_t n, size_t size), (n, size), n *size, got)
WRAPPER(void *, realloc, (void *p, size_t size), (p, size), size, got)
WRAPPER(int, posix_memalign, (void **p, size_t align, size_t size), (p, align, size), size, got == 0 ? *p : NULL)
WRAPPER(void *, aligned_alloc, (size_t align, size_t size), (align, size), size, got)
WRAPPER(void *, memalign, (size_t align, size_t size), (align, size), size, got)
WRAPPER(void *, valloc, (size_t size), (size), size, got)
WRAPPER(void *, pvalloc, (size_t size), (size), size, got)

void guard_install(struct next *table) {
    real = *table;
    guard_installed = 1;
    table->malloc = guarded_malloc;
    table->calloc = guarded_calloc;
    table->realloc = guarded_realloc;
    table->posix_memalign = guarded_posix_memalign;
    table->aligned_alloc = guarded_aligned_alloc;
    table->memalign = guarded_memalign;
    table->valloc = guarded_valloc;
    table->pvalloc = guarded_pvalloc;
}
