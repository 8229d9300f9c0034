/* SPDX-License-Identifier: Apache-2.0 */
#include "preload/intercept/guard.h"

#include <stdint.h>

#include "preload/record/thread.h"

static struct next real;

/* The outermost of the allocator's functions that the thread is in: the frame that called it, and the return address there,
 * which tells whether it is still under way (a signal handler may have left it by a longjmp). And whether the innermost one's
 * hook must not record. */
static __thread struct {
    const uintptr_t *frame;
    uintptr_t ra;
    int inner;
} guard __attribute__((tls_model("initial-exec")));

/* Farther apart than this on a stack they have nothing to do with each other. */
#define NEAR (256ul << 10)

int guard_is_inner(void) {
    int inner = guard.inner;
    guard.inner = 0;
    return inner;
}

/* `frame` is __builtin_frame_address(0) of the wrapper: [0] the caller's rbp, [1] the return address. 1: inside another one. */
static inline int enter(const uintptr_t *frame) {
    const uintptr_t *outer = guard.frame;
    if (outer && frame < outer && (uintptr_t)outer - (uintptr_t)frame < NEAR && outer[1] == guard.ra)
        return 1;
    guard.ra = frame[1];
    guard.frame = frame;
    return 0;
}

/* The block `p` was handed out. If that was to the allocator itself, its hook will add a call and subtract `size`. */
static inline void *leave(int inner, void *p, size_t size) {
    if (!inner) {
        guard.frame = NULL;
        return p;
    }
    if (!p)
        return p;
    struct thread *t = thread_self;
    add_owned(&t->calls, (uint64_t)-1);
    add_owned((uint64_t *)&t->countdown, size);
    guard.inner = t->countdown < (int64_t)size; /* it will be negative again, and the hook look for what to record */
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
    table->malloc = guarded_malloc;
    table->calloc = guarded_calloc;
    table->realloc = guarded_realloc;
    table->posix_memalign = guarded_posix_memalign;
    table->aligned_alloc = guarded_aligned_alloc;
    table->memalign = guarded_memalign;
    table->valloc = guarded_valloc;
    table->pvalloc = guarded_pvalloc;
}
