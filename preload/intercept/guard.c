/* SPDX-License-Identifier: Apache-2.0 */
#include "preload/intercept/guard.h"

#include <stdint.h>

#include "preload/record/thread.h"

static struct next real;

/* How many of the allocator's functions the thread is in, and whether the innermost one's hook must not record. */
static __thread struct {
    uint16_t depth, inner;
} guard __attribute__((tls_model("initial-exec")));

int guard_is_inner(void) {
    int inner = guard.inner;
    guard.inner = 0;
    return inner;
}

/* The block `p` was handed out to the allocator itself: its hook will add a call and subtract `size`. */
static void *leave(void *p, size_t size) {
    if (--guard.depth == 0 || !p)
        return p;
    struct thread *t = thread_self;
    add_owned(&t->calls, (uint64_t)-1);
    add_owned((uint64_t *)&t->countdown, size);
    guard.inner = t->countdown < (int64_t)size; /* it will be negative again, and the hook look for what to record */
    return p;
}

static void *guarded_malloc(size_t size) {
    guard.depth++;
    return leave(real.malloc(size), size);
}
static void *guarded_calloc(size_t n, size_t size) {
    guard.depth++;
    return leave(real.calloc(n, size), n * size);
}
static void *guarded_realloc(void *p, size_t size) {
    guard.depth++;
    return leave(real.realloc(p, size), size);
}
static int guarded_posix_memalign(void **p, size_t align, size_t size) {
    guard.depth++;
    int ret = real.posix_memalign(p, align, size);
    leave(ret == 0 ? *p : NULL, size);
    return ret;
}
static void *guarded_aligned_alloc(size_t align, size_t size) {
    guard.depth++;
    return leave(real.aligned_alloc(align, size), size);
}
static void *guarded_memalign(size_t align, size_t size) {
    guard.depth++;
    return leave(real.memalign(align, size), size);
}
static void *guarded_valloc(size_t size) {
    guard.depth++;
    return leave(real.valloc(size), size);
}
static void *guarded_pvalloc(size_t size) {
    guard.depth++;
    return leave(real.pvalloc(size), size);
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
