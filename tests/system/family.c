/* SPDX-License-Identifier: Apache-2.0 */
/* Every function of the malloc family, each called in a function of its own that keeps count itself:
 *
 *     truth FUNCTION ALLOCATED-BYTES BLOCKS IN-USE-BYTES BLOCKS
 *
 * A realloc counts as an allocation of the new size and the free of the old block.
 * Calls that fail count for nothing. */
#include <errno.h>
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SITE __attribute__((noipa)) static

/* C23; where libc doesn't have them yet, libcprof.so does. */
void free_sized(void *p, size_t size) __attribute__((weak));
void free_aligned_sized(void *p, size_t align, size_t size) __attribute__((weak));

struct count {
    size_t bytes, blocks, live_bytes, live_blocks;
};

static void *volatile block;
static volatile size_t size_of;
static int wrong;

static void add(struct count *c, void *p, size_t size) {
    if (!p)
        return;
    c->bytes += size;
    c->blocks++;
    c->live_bytes += size;
    c->live_blocks++;
}
static void drop(struct count *c, size_t size) {
    c->live_bytes -= size;
    c->live_blocks--;
}
static void tell(const char *name, const struct count *c) {
    printf("truth %s %zu %zu %zu %zu\n", name, c->bytes, c->blocks, c->live_bytes, c->live_blocks);
}
static void check(int right, const char *what) {
    if (!right) {
        printf("wrong: %s\n", what);
        wrong = 1;
    }
}

/* What the caller may rely on: as many bytes as asked for, all its own. */
static void use(void *p, size_t size, size_t align) {
    check((uintptr_t)p % align == 0, "alignment");
    if (p) {
        memset(p, 0x5a, size);
        check(malloc_usable_size(p) >= size, "usable size");
    }
}

SITE void use_malloc(struct count *c) {
    for (size_t i = 0; i < 3000; i++) {
        size_of = i % 700;
        block = malloc(size_of);
        add(c, block, size_of);
        use(block, size_of, 8);
        if (i % 3) {
            free(block);
            drop(c, size_of);
        }
    }
    size_of = PTRDIFF_MAX;
    errno = 0;
    block = malloc(size_of);
    check(!block && errno == ENOMEM, "malloc of too much");
    free(NULL);
}

SITE void use_calloc(struct count *c) {
    static const char zeros[4096];
    for (size_t i = 1; i < 300; i++) {
        block = calloc(i, 13);
        add(c, block, i * 13);
        check(memcmp(block, zeros, i * 13 < sizeof zeros ? i * 13 : sizeof zeros) == 0, "calloc's zeros");
        if (i % 2) {
            if (free_sized)
                free_sized(block, i * 13);
            else
                free(block);
            drop(c, i * 13);
        }
    }
    size_of = SIZE_MAX / 2;
    block = calloc(size_of, 3);
    check(!block, "calloc of a product that overflows");
}

SITE void use_realloc(struct count *c) {
    char *p = NULL;
    size_t had = 0;
    for (size_t want = 1; want < 3000000; want = want * 3 + 1) {
        char *q = realloc(p, want);
        check(q != NULL && (!had || q[had - 1] == 'x'), "realloc keeps what was there");
        add(c, q, want);
        if (p)
            drop(c, had);
        p = q;
        had = want;
        p[had - 1] = 'x';
    }
    size_of = PTRDIFF_MAX;
    block = realloc(p, size_of);
    check(!block && p[had - 1] == 'x', "realloc of too much leaves the block alone");
    p = realloc(p, 100);
    add(c, p, 100);
    drop(c, had);
    block = realloc(p, 0); /* glibc's frees and gives NULL, others give a block of no bytes */
    drop(c, 100);
    add(c, block, 0);
    block = realloc(NULL, 40);
    add(c, block, 40);
}

SITE void use_reallocarray(struct count *c) {
    void *p = reallocarray(NULL, 10, 24);
    add(c, p, 240);
    p = reallocarray(p, 1000, 24);
    add(c, p, 24000);
    drop(c, 240);
    use(p, 24000, 8);
    size_of = SIZE_MAX / 8;
    errno = 0;
    block = reallocarray(p, size_of, 24);
    check(!block && errno == ENOMEM, "reallocarray of a product that overflows");
}

SITE void use_posix_memalign(struct count *c) {
    for (size_t align = sizeof(void *); align <= 65536; align *= 2) {
        void *p = NULL;
        check(posix_memalign(&p, align, align + 5) == 0, "posix_memalign");
        block = p;
        add(c, p, align + 5);
        use(p, align + 5, align);
        if (align > 512) {
            free(block);
            drop(c, align + 5);
        }
    }
    void *untouched = &wrong;
    check(posix_memalign(&untouched, 3, 10) == EINVAL && untouched == &wrong, "posix_memalign of an odd alignment");
}

SITE void use_aligned_alloc(struct count *c) {
    for (size_t align = 16; align <= 4096; align *= 2) {
        block = aligned_alloc(align, 4 * align);
        add(c, block, 4 * align);
        use(block, 4 * align, align);
        if (align < 256) {
            if (free_aligned_sized)
                free_aligned_sized(block, align, 4 * align);
            else
                free(block);
            drop(c, 4 * align);
        }
    }
}

SITE void use_memalign(struct count *c) {
    for (size_t align = 16; align <= 8192; align *= 2) {
        block = memalign(align, 77);
        add(c, block, 77);
        use(block, 77, align);
        if (align & 0x5550) {
            free(block);
            drop(c, 77);
        }
    }
}

SITE void use_valloc(struct count *c) {
    block = valloc(5000);
    add(c, block, 5000);
    use(block, 5000, 4096);
}

/* Kept: with an allocator that lacks it the block is glibc's. */
SITE void use_pvalloc(struct count *c) {
    block = pvalloc(5001);
    add(c, block, 5001);
    check((uintptr_t)block % 4096 == 0, "alignment");
}

#define RUN(name)                                                                                                      \
    do {                                                                                                               \
        struct count count = {0};                                                                                      \
        name(&count);                                                                                                  \
        tell(#name, &count);                                                                                           \
    } while (0)

int main(void) {
    RUN(use_malloc);
    RUN(use_calloc);
    RUN(use_realloc);
    RUN(use_reallocarray);
    RUN(use_posix_memalign);
    RUN(use_aligned_alloc);
    RUN(use_memalign);
    RUN(use_valloc);
    RUN(use_pvalloc);
    return wrong;
}
