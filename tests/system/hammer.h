/* SPDX-License-Identifier: Apache-2.0 */
/* The hammer: calls of every function of the malloc family, in functions of their own (hammer_...), with blocks that go from hand to
 * hand. Each block is looked at for damage before it is given back, and counted. */
#ifndef CPROF_TESTS_SYSTEM_HAMMER_H
#define CPROF_TESTS_SYSTEM_HAMMER_H

#include <malloc.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "preload/cprof.h"

#define SITE __attribute__((noipa)) static
#define SLOTS 4096

/* Each block says how long it is in its first word, and holds its own address, so that two owners would show. */
struct block {
    size_t size;
    uintptr_t words[];
};

struct count {
    uint64_t bytes, blocks, freed_bytes, freed_blocks;
};

struct worker {
    uint64_t random;
    struct count count;
};

static _Atomic(struct block *) slots[SLOTS];

static uint64_t next_random(struct worker *w) {
    w->random = w->random * 6364136223846793005u + 1442695040888963407u;
    return w->random >> 33;
}

static void die(const char *what) {
    printf("wrong: %s\n", what);
    abort();
}

/* Both ends are enough to show that nobody else has it. */
static struct block *fill(struct worker *w, struct block *b, size_t size) {
    if (!b)
        die("no memory");
    w->count.bytes += size;
    w->count.blocks++;
    b->size = size;
    if (size >= 2 * sizeof(uintptr_t))
        b->words[0] = b->words[size / sizeof(uintptr_t) - 2] = (uintptr_t)b;
    return b;
}

static void check(const struct block *b) {
    size_t size = b->size;
    if (size >= 2 * sizeof(uintptr_t) &&
        (b->words[0] != (uintptr_t)b || b->words[size / sizeof(uintptr_t) - 2] != (uintptr_t)b))
        die("a block is not its owner's alone");
    if (malloc_usable_size((void *)b) < size)
        die("usable size");
}

static void count_free(struct worker *w, size_t size) {
    w->count.freed_bytes += size;
    w->count.freed_blocks++;
}

static void give_back(struct worker *w, struct block *b) {
    check(b);
    count_free(w, b->size);
    free(b);
}

SITE void *hammer_malloc(size_t size) {
    return malloc(size);
}
SITE void *hammer_calloc(size_t size) {
    char *p = calloc(size / 8, 8);
    if (p && (p[0] | p[size - 1]))
        die("calloc's zeros");
    return p;
}
SITE void *hammer_posix_memalign(size_t size) {
    void *p = NULL;
    return posix_memalign(&p, 64, size) ? NULL : p;
}
SITE void *hammer_aligned_alloc(size_t size) {
    return aligned_alloc(32, size);
}
SITE void *hammer_memalign(size_t size) {
    return memalign(256, size);
}
SITE void *hammer_valloc(size_t size) {
    return valloc(size);
}
SITE void *hammer_pvalloc(size_t size) {
    return pvalloc(size);
}
SITE void *hammer_realloc(void *p, size_t size) {
    return realloc(p, size);
}
SITE void *hammer_reallocarray(void *p, size_t size) {
    return reallocarray(p, size / 8, 8);
}
SITE void *hammer_deep(size_t size, unsigned depth) {
    void *p = depth ? hammer_deep(size, depth - 1) : malloc(size);
    __asm__ volatile(""); /* no tail call */
    return p;
}

/* Mostly small, seldom large; whole words. */
static size_t some_size(struct worker *w) {
    uint64_t r = next_random(w);
    if (r % 1000 == 0)
        return 8 * (1 + next_random(w) % 40000);
    return 8 * (1 + (r / 1000 % 8 ? r / 8000 % 16 : r / 8000 % 500));
}

static struct block *make(struct worker *w) {
    size_t size = some_size(w);
    switch (next_random(w) % 64) {
    case 0:
        return fill(w, hammer_posix_memalign(size), size);
    case 1:
        return fill(w, hammer_aligned_alloc(size), size);
    case 2:
        return fill(w, hammer_memalign(size), size);
    case 3:
        return fill(w, next_random(w) % 16 ? hammer_malloc(size) : hammer_valloc(size), size);
    case 4:
        return fill(w, next_random(w) % 16 ? hammer_malloc(size) : hammer_pvalloc(size), size);
    case 5 ... 9:
        return fill(w, hammer_realloc(NULL, size), size);
    case 10 ... 19:
        return fill(w, hammer_calloc(size), size);
    case 20 ... 29:
        return fill(w, hammer_deep(size, (unsigned)(next_random(w) % 30)), size);
    default:
        return fill(w, hammer_malloc(size), size);
    }
}

static struct block *resize(struct worker *w, struct block *b) {
    size_t size = some_size(w);
    check(b);
    count_free(w, b->size);
    return fill(w, next_random(w) % 4 ? hammer_realloc(b, size) : hammer_reallocarray(b, size), size);
}

/* What counts as calls that failed or did nothing. */
static void odd_calls(struct worker *w) {
    volatile size_t huge = PTRDIFF_MAX;
    void *p = hammer_malloc(0);
    w->count.blocks++;
    w->count.freed_blocks++;
    free(p);
    free(NULL);
    if (hammer_malloc(huge))
        die("more than there can be");
    p = hammer_malloc(24);
    if (hammer_realloc(p, huge))
        die("more than there can be");
    if (hammer_realloc(p, 0))
        die("not glibc's realloc");
    w->count.bytes += 24;
    w->count.blocks++;
    count_free(w, 24);
}

/* Any slot is anybody's: who takes a block out of it owns it. */
static void take_and_put(struct worker *w) {
    struct block *b = atomic_exchange(&slots[next_random(w) % SLOTS], NULL);
    if (b && next_random(w) % 3 == 0)
        b = resize(w, b);
    else if (b)
        give_back(w, b), b = NULL;
    if (!b)
        b = make(w);
    b = atomic_exchange(&slots[next_random(w) % SLOTS], b);
    if (b)
        give_back(w, b);
}

static void check_slots(void) {
    for (int i = 0; i < SLOTS; i++)
        if (slots[i])
            check(slots[i]);
}

static void add_counts(struct count *sum, const struct count *more) {
    sum->bytes += more->bytes;
    sum->blocks += more->blocks;
    sum->freed_bytes += more->freed_bytes;
    sum->freed_blocks += more->freed_blocks;
}

static void print_did(const struct count *sum) {
    printf("did %lu %lu %lu %lu\n", sum->bytes, sum->blocks, sum->bytes - sum->freed_bytes, sum->blocks - sum->freed_blocks);
}

static struct cprof_stats stats(void) {
    struct cprof_stats s = {0};
    if (cprof_get_stats)
        cprof_get_stats(&s);
    return s;
}

#endif
