/* SPDX-License-Identifier: Apache-2.0 */
#include "preload/intercept/guard.h"

#include <stdint.h>

#include "preload/record/caller.h"
#include "preload/record/loader.h"
#include "preload/record/record.h"
#include "preload/record/thread.h"

static struct next real;

/* The frame of the outermost of the allocator's functions that the thread is in, or 0; and in its lowest bit, whether the innermost
 * one's hook must not record. It may be left over: from a longjmp out of a signal handler, or an exception. */
static __thread uintptr_t guard __attribute__((tls_model("initial-exec")));
#define INNER ((uintptr_t)1)

int guard_ask(void) {
    int inner = (int)(guard & INNER);
    guard &= ~INNER;
    return inner;
}

uintptr_t guard_low, guard_size;

/* `frame` is __builtin_frame_address(0) of a wrapper: [0] the caller's rbp, [1] the return address, into a hook. Whether the hook was
 * called by the allocator, and that, frame by frame, from the wrapper that `guard` is of. Nothing is looked at but frames that
 * are under way: what `guard` points to need not be there any more. */
static int is_inside_another(const uintptr_t *frame) {
    uintptr_t end = (guard & ~INNER) + 2 * sizeof(uintptr_t);
    struct registers r = {.ip = frame[1] - 1, .sp = (uintptr_t)(frame + 2), .bp = frame[0]};
    if (r.sp >= end || !record_is_on() || !caller_of(&r, end) || r.ip - guard_low >= guard_size)
        return 0;
    while (r.sp < end)
        if (!caller_of(&r, end))
            return 0;
    return 1;
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

static __attribute__((noinline)) void *late_new(next_new *fn, size_t size, size_t a, size_t b) {
    if (is_inside_another(__builtin_frame_address(0))) {
        void *p = fn(size, a, b);
        discount(p, size);
        return p;
    }
    guard = (uintptr_t)__builtin_frame_address(0);
    void *p = fn(size, a, b);
    guard = 0;
    return p;
}

void *guard_new(next_new *fn, size_t size, size_t a, size_t b) {
    if (unlikely(guard))
        return late_new(fn, size, a, b);
    guard = (uintptr_t)__builtin_frame_address(0);
    void *p = fn(size, a, b);
    guard = 0;
    return p;
}

void guard_install(struct next *table) {
    real = *table;
    loader_range((void *)table->malloc, &guard_low, &guard_size);
    table->malloc = guarded_malloc;
    table->calloc = guarded_calloc;
    table->realloc = guarded_realloc;
    table->posix_memalign = guarded_posix_memalign;
    table->aligned_alloc = guarded_aligned_alloc;
    table->memalign = guarded_memalign;
    table->valloc = guarded_valloc;
    table->pvalloc = guarded_pvalloc;
}
