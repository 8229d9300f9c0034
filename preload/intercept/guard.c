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

/* `frame` is __builtin_frame_address(0) of the wrapper: [0] the caller's rbp, [1] the return address. 1: inside another one. */
static inline int enter(const uintptr_t *frame) {
    const uintptr_t *outer = (const uintptr_t *)(guard & ~INNER);
    if (outer && frame < outer && (uintptr_t)outer - (uintptr_t)frame < NEAR && is_under_way(outer))
        return 1;
    guard = (uintptr_t)frame;
    return 0;
}

/* The block `p` was handed out. If that was to the allocator itself, its hook will add a call and subtract `size`. */
static inline void *leave(int inner, void *p, size_t size) {
    if (!inner) {
        guard = 0;
        return p;
    }
    if (!p)
        return p;
    struct thread *t = thread_self;
    add_owned(&t->calls, (uint64_t)-1);
    add_owned((uint64_t *)&t->countdown, size);
    if (t->countdown < (int64_t)size) /* it will be negative again, and the hook look for what to record */
        guard |= INNER;
    return p;
}
#define ENTER() enter(__builtin_frame_address(0))

static void *guarded_malloc(size_t size) {
    int inner = ENTER();
    return leave(inner, real.malloc(size), size);
}
static void *guarded_calloc(size_t n, size_t size) {
    int inner = ENTER();
    return leave(inner, real.calloc(n, size), n * size);
}
static void *guarded_realloc(void *p, size_t size) {
    int inner = ENTER();
    return leave(inner, real.realloc(p, size), size);
}
static int guarded_posix_memalign(void **p, size_t align, size_t size) {
    int inner = ENTER();
    int ret = real.posix_memalign(p, align, size);
    leave(inner, ret == 0 ? *p : NULL, size);
    return ret;
}
static void *guarded_aligned_alloc(size_t align, size_t size) {
    int inner = ENTER();
    return leave(inner, real.aligned_alloc(align, size), size);
}
static void *guarded_memalign(size_t align, size_t size) {
    int inner = ENTER();
    return leave(inner, real.memalign(align, size), size);
}
static void *guarded_valloc(size_t size) {
    int inner = ENTER();
    return leave(inner, real.valloc(size), size);
}
static void *guarded_pvalloc(size_t size) {
    int inner = ENTER();
    return leave(inner, real.pvalloc(size), size);
}

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
