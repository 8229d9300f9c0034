/* SPDX-License-Identifier: Apache-2.0 */
#include "preload/intercept/arena.h"

#include <errno.h>

#include "preload/record/memory.h"
#include "preload/record/shadow.h"

char arena_first[ARENA_FIRST] __attribute__((aligned(4096)));
char *arena_more;

uint64_t arena_used;

/* In front of each block. */
struct header {
    size_t size;
    size_t unused;
};

static int mark(char *from, char *to) {
    for (char *page = from; page < to; page += MEMORY_PAGE)
        *shadow_filter_at((uintptr_t)page) = 255;
    return 1;
}

/* Opens the second part up to `to`. It is reserved by whoever needs it first. */
static int open_more(uint64_t from, uint64_t to) {
    char *base = load_acquire(&arena_more);
    if (!base) {
        char *fresh = memory_reserve(ARENA_MORE);
        if (!fresh)
            return 0;
        if (cas_acq_rel(&arena_more, &base, fresh))
            base = fresh;
    }
    from &= ~MEMORY_PAGE_MASK;
    to = memory_pages(to);
    return memory_open(base + from, to - from) == 0 && mark(base + from, base + to);
}

void *arena_alloc(size_t n, size_t align) {
    uint64_t at, from, to;
    if (align < 16)
        align = 16;
    if (align & (align - 1) || align > ARENA_FIRST / 2 || n > ARENA_MORE / 2) {
        errno = ENOMEM;
        return NULL;
    }
    from = load_relaxed(&arena_used);
    do {
        at = (from + sizeof(struct header) + align - 1) & ~(uint64_t)(align - 1);
        if (at < ARENA_FIRST && at + n > ARENA_FIRST)
            at = (ARENA_FIRST + sizeof(struct header) + align - 1) & ~(uint64_t)(align - 1);
        to = at + n;
    } while (to <= ARENA_FIRST + ARENA_MORE && !cas_acq_rel(&arena_used, &from, to));
    char *block;
    if (to <= ARENA_FIRST) {
        mark(arena_first + (from & ~MEMORY_PAGE_MASK), arena_first + to);
        block = arena_first + at;
    } else if (to <= ARENA_FIRST + ARENA_MORE && open_more(at - sizeof(struct header) - ARENA_FIRST, to - ARENA_FIRST)) {
        block = arena_more + (at - ARENA_FIRST);
    } else {
        errno = ENOMEM;
        return NULL;
    }
    ((struct header *)block - 1)->size = n;
    return block;
}

size_t arena_size(const void *p) {
    return ((const struct header *)p - 1)->size;
}
