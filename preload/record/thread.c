/* SPDX-License-Identifier: Apache-2.0 */
#include "preload/record/thread.h"

#include "preload/record/index.h"
#include "preload/record/memory.h"
#include "preload/record/segment.h"

/* Threads that fit; the table is zeroed memory, and only what is used of it is ever touched. */
#define TABLE (1u << 16)
#define PROBES 128

/* `process` is no process's, so that its users see at once that it is not to be used. */
struct thread thread_unknown = {.countdown = INT64_MIN / 2, .process = THREAD_NO_PROCESS};
__thread struct thread *thread_self = &thread_unknown;

static struct thread *table[TABLE];
static uint32_t numbered;
static struct thread *newest;

/* Records come in slabs; the last one in use. */
#define SLAB 32
static struct slab {
    uint64_t used;
    struct thread thread[SLAB];
} *slab;

static struct thread *new_record(void) {
    for (;;) {
        struct slab *s = load_acquire(&slab);
        uint64_t n = s ? add_relaxed(&s->used, 1u) : SLAB;
        if (n < SLAB)
            return &s->thread[n];
        struct slab *fresh = memory_map(sizeof *fresh);
        if (!fresh)
            return NULL;
        if (!cas_acq_rel(&slab, &s, fresh))
            memory_unmap(fresh, sizeof *fresh);
    }
}

static uintptr_t thread_pointer(void) {
    uintptr_t fs;
    __asm__("mov %%fs:0, %0" : "=r"(fs));
    return fs;
}

static struct thread *claim(uintptr_t pointer) {
    struct thread *mine = NULL;
    uint64_t at = index_hash(pointer, 0);
    for (unsigned i = 0; i < PROBES; i++) {
        struct thread **entry = &table[(at + i) % TABLE], *found = load_acquire(entry);
        if (!found) {
            if (!mine && !(mine = new_record()))
                return NULL;
            mine->pointer = pointer;
            mine->process = THREAD_NO_PROCESS;
            if (cas_acq_rel(entry, &found, mine)) {
                uint32_t n = add_relaxed(&numbered, 1u);
                mine->older = load_acquire(&newest);
                while (!cas_acq_rel(&newest, &mine->older, mine))
                    ;
                mine->owned = n < SEGMENT_OWNED_SHARDS;
                mine->shard =
                    mine->owned ? n : SEGMENT_OWNED_SHARDS + n % (SEGMENT_SHARDS - SEGMENT_OWNED_SHARDS);
                return mine;
            }
        }
        if (found->pointer == pointer)
            return found;
    }
    return NULL;
}

/* What was known of the earlier owner's stack does not hold for the new one's. */
static void forget_stacks(struct thread *t) {
    for (int i = 0; i < THREAD_LEVELS; i++) {
        t->user[i] = NULL;
        if (t->walk[i])
            walk_init(t->walk[i], t->walk[i] + 1);
    }
}

struct thread *thread_get(void) {
    struct thread *t = thread_self;
    if (likely(t != &thread_unknown))
        return t;
    t = claim(thread_pointer());
    if (!t)
        return NULL;
    forget_stacks(t);
    return thread_self = t;
}

/* Its stack may be unmapped by now. */
static int is_left(struct thread_mark *user, const struct thread_mark *mark) {
    return user == mark || !stack_probe((uintptr_t)user, sizeof *user) || user->self != user;
}

COLD uint32_t thread_use_any(struct thread *t, struct thread_mark *mark) {
    for (uint32_t i = 0; i < THREAD_LEVELS; i++) {
        struct thread_mark *user = load_relaxed(&t->user[i]);
        while (!user || is_left(user, mark))
            if (cas_acq_rel(&t->user[i], &user, mark))
                return i;
    }
    return THREAD_LEVELS;
}

struct walk *thread_walk(struct thread *t, uint32_t level) {
    if (level >= THREAD_LEVELS)
        return NULL;
    struct walk *w = t->walk[level];
    if (unlikely(!w)) {
        w = memory_map(sizeof *w + walk_bytes());
        if (!w)
            return NULL;
        walk_init(w, w + 1);
        t->walk[level] = w;
    }
    return w;
}

static void discard_walks(struct thread *t, void *unused) {
    (void)unused;
    for (int i = 0; i < THREAD_LEVELS; i++) {
        struct walk *w = t->walk[i];
        t->walk[i] = NULL;
        if (w && w->known)
            known_discard(w->known);
        if (w)
            memory_unmap(w, sizeof *w + walk_bytes());
    }
}

void thread_discard_walks(void) {
    thread_each(discard_walks, NULL);
}

void thread_each(void (*fn)(struct thread *, void *), void *ctx) {
    for (struct thread *t = load_acquire(&newest); t; t = t->older)
        fn(t, ctx);
}
