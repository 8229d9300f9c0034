/* SPDX-License-Identifier: Apache-2.0 */
#include "preload/intercept/next.h"

#include <errno.h>

#include "preload/intercept/arena.h"
#include "preload/intercept/guard.h"
#include "preload/intercept/symbol.h"
#include "preload/record/loader.h"
#include "preload/record/thread.h"

static void *first_malloc(size_t n) {
    return next_lookup() ? next.malloc(n) : arena_alloc(n, 16);
}
static void first_free(void *p) {
    if (p && next_lookup())
        next.free(p); /* else: of an allocator that can't be reached yet */
}
static void *first_calloc(size_t n, size_t size) {
    if (next_lookup())
        return next.calloc(n, size);
    if (__builtin_mul_overflow(n, size, &n)) {
        errno = ENOMEM;
        return NULL;
    }
    return arena_alloc(n, 16); /* is zeroed */
}
static void *first_realloc(void *p, size_t n) {
    if (!p)
        return first_malloc(n);
    return next_lookup() ? next.realloc(p, n) : NULL;
}
static void *first_memalign(size_t align, size_t n) {
    return next_lookup() ? next.memalign(align, n) : arena_alloc(n, align);
}
static void *first_aligned_alloc(size_t align, size_t n) {
    return next_lookup() ? next.aligned_alloc(align, n) : arena_alloc(n, align);
}
static int first_posix_memalign(void **p, size_t align, size_t n) {
    if (next_lookup())
        return next.posix_memalign(p, align, n);
    void *block = arena_alloc(n, align);
    if (block)
        *p = block;
    return block ? 0 : ENOMEM;
}
static void *first_valloc(size_t n) {
    return next_lookup() ? next.valloc(n) : arena_alloc(n, 4096);
}
static void *first_pvalloc(size_t n) {
    return next_lookup() ? next.pvalloc(n) : arena_alloc((n + 4095) & ~4095ul, 4096);
}
static void first_free_sized(void *p, size_t n) {
    (void)n;
    next.program_free(p);
}
static void first_free_aligned_sized(void *p, size_t align, size_t n) {
    (void)align;
    (void)n;
    next.program_free(p);
}
static size_t first_malloc_usable_size(void *p) {
    return p && next_lookup() ? next.malloc_usable_size(p) : 0;
}
static int first_dlclose(void *handle) {
    return next_lookup() ? next.dlclose(handle) : -1;
}

struct next next = {
    .malloc = first_malloc,
    .free = first_free,
    .calloc = first_calloc,
    .realloc = first_realloc,
    .posix_memalign = first_posix_memalign,
    .aligned_alloc = first_aligned_alloc,
    .memalign = first_memalign,
    .valloc = first_valloc,
    .pvalloc = first_pvalloc,
    .free_sized = first_free_sized,
    .free_aligned_sized = first_free_aligned_sized,
    .malloc_usable_size = first_malloc_usable_size,
    .dlclose = first_dlclose,
    .program_free = first_free,
};

void *next_prctl, *next_syscall;

void *next_find_prctl(void) {
    return next_prctl = symbol_find_next("prctl");
}

void *next_find_syscall(void) {
    return next_syscall = symbol_find_next("syscall");
}

static enum { NOT_YET, UNDER_WAY, DONE } state;
static void *(*allocator)(size_t); /* the next malloc itself, also where `next` has a wrapper of it */

/* Operators come and go with the libraries that hold them. */
static const struct {
    const char *name;
    size_t offset;
} operators[] = {
#define HOOK(name)
#define NEW(name) {#name, offsetof(struct next, name)},
#define DELETE(name) {#name, offsetof(struct next, name)},
#include "preload/intercept/hooks.def"
#undef HOOK
#undef NEW
#undef DELETE
};

/* What a call by this name reaches, if it isn't ours. */
static void *in_front(const char *name) {
    void *bound = symbol_find(name);
    return bound && !loader_same_object(bound, &next) ? bound : NULL;
}

static void **operator_slot(struct next *table, size_t offset) {
    return (void **)((char *)table + offset);
}

int next_lookup(void) {
    int idle = NOT_YET;
    thread_early();
    if (load_acquire(&state) == DONE)
        return 1;
    if (!cas_acq_rel((int *)&state, &idle, UNDER_WAY))
        return idle == DONE;
    loader_init();
    struct next found = next; /* what is not found keeps its stand-in, which falls back on free and malloc */
    void *p;
#define FIND(name)                                                                                                     \
    if ((p = symbol_find_next(#name)))                                                                                 \
    found.name = (__typeof__(found.name))p
    FIND(malloc);
    FIND(free);
    FIND(calloc);
    FIND(realloc);
    FIND(posix_memalign);
    FIND(aligned_alloc);
    FIND(memalign);
    FIND(valloc);
    FIND(pvalloc);
    FIND(malloc_usable_size);
    FIND(dlclose);
    FIND(setrlimit);
    FIND(prlimit);
    FIND(daemon);
    FIND(execve);
    FIND(execv);
    FIND(execvp);
    FIND(execvpe);
    FIND(fexecve);
    FIND(execveat);
    FIND(free_sized);
    FIND(free_aligned_sized);
#undef FIND
    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++)
        *operator_slot(&found, operators[i].offset) = symbol_find_next(operators[i].name);
    found.records_new = found._Znwm && loader_same_object((void *)found.malloc, (void *)found._Znwm);
    next_find_prctl();
    next_find_syscall();
    found.program_free = found.free;
    if (in_front("malloc")) {
        found.reallocarray = (__typeof__(found.reallocarray))symbol_find_next("reallocarray");
        if ((p = in_front("free")))
            found.program_free = (void (*)(void *))p;
    }
    allocator = found.malloc;
    if (!next_is_glibc())
        guard_install(&found);
    next = found;
    store_release(&state, DONE);
    return 1;
}

const char *next_allocator(void) {
    return loader_file((void *)allocator);
}

int next_is_glibc(void) {
    void *libc = symbol_find_next("gnu_get_libc_version");
    return libc && loader_same_object((void *)allocator, libc);
}

const char *next_in_front(void) {
    void *bound = in_front("malloc");
    const char *file = bound ? loader_file(bound) : NULL;
    return !file || file[0] ? file : "the program itself";
}

static int borrowed; /* some operators are of libraries that may be closed */

void *next_operator(size_t offset, const char *name) {
    void **slot = operator_slot(&next, offset), *found = NULL;
    if (next_lookup() && !*slot && (found = symbol_find_next(name))) {
        borrowed = 1;
        *slot = found;
    }
    return *slot;
}

void next_forget_operators(void) {
    if (!borrowed)
        return;
    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++)
        *operator_slot(&next, operators[i].offset) = NULL;
}
