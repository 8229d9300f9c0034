/* SPDX-License-Identifier: Apache-2.0 */
#include "preload/record/record.h"

#include "preload/record/memory.h"
#include "preload/record/modules.h"
#include "preload/record/peak.h"
#include "preload/record/process.h"
#include "preload/record/rules.h"
#include "preload/record/sampler.h"
#include "preload/record/segment.h"
#include "preload/record/tree.h"

void (*record_tick)(void);

static uint64_t rate;
static uint64_t seed;
static uint32_t recording;
static enum { NOT_YET, RECORDING, INERT } ready;

/* A countdown that does not end: 2^62 bytes. */
#define NEVER ((int64_t)1 << 62)

int record_init(const struct record_settings *s) {
    rate = s->rate;
    seed = s->seed;
    peak_init(rate);
    shadow_init(s->granule, rate == 1);
    if (!rules_init() || !tree_init() || !process_init())
        return -12; /* ENOMEM */
    recording = s->started != 0;
    thread_self = &thread_unknown; /* what ran before this was not counted */
    store_release(&ready, RECORDING);
    return 0;
}

void record_never(void) {
    store_release(&ready, INERT);
}

void record_switch(int on) {
    store_release(&recording, (uint32_t)(on != 0));
}

int record_check_process(void) {
    return unlikely(!process_is_ours()) ? process_adopt() : 0;
}

/* Moves the countdown and keeps base - countdown. */
static void set_countdown(struct thread *t, int64_t to) {
    uint64_t by = (uint64_t)to - (uint64_t)t->countdown;
    add_owned(&t->base, by);
    add_owned((uint64_t *)&t->countdown, by);
}

static void draw(struct thread *t) {
    /* At rate 1 the countdown is left below zero for good; switched off by rate 0 it never gets there. */
    if (rate > 1)
        set_countdown(t, sampler_draw(rate, &t->random));
    else if (rate == 0)
        set_countdown(t, NEVER);
    else if (t->countdown >= 0)
        set_countdown(t, -1);
}

/* The thread's first call in this process: a new thread, or the one that forked. The record of a new one may hold the
 * totals of a thread that ended in the parent. */
static void enter_process(struct thread *t, int is_new) {
    if (is_new) {
        t->base = (uint64_t)t->countdown;
        t->calls = 0;
    }
    uint64_t mix = seed ^ index_hash(process_number(), t->shard) ^ t->pointer * (seed == 0);
    t->process = process_number();
    t->random = sampler_random(&mix) + t->slot;
    t->slot = segment_take(SEGMENT_THREADS, 1);
    t->samples = 0;
}

static void publish(struct thread *t) {
    if (unlikely(t->process != process_number()) || !t->slot)
        return;
    struct segment_thread *s = &segment.threads[t->slot];
    store_relaxed(&s->bytes, t->base - (uint64_t)t->countdown);
    store_relaxed(&s->calls, t->calls);
    store_relaxed(&s->samples, t->samples);
}

static void count_overflow(uint64_t size) {
    struct segment_overflow *o = &segment.header->overflow[size ? 64 - __builtin_clzll(size) : 0];
    add_relaxed(&o->allocs, 1u);
    add_relaxed(&o->bytes, size);
}

static void count(struct thread *t, uint32_t bucket, unsigned allocs, unsigned frees) {
    struct segment_count *c = segment_count_at(t->shard, bucket);
    if (unlikely(!c)) {
        add_relaxed(&segment.header->dropped, (uint64_t)(allocs | frees));
        return;
    }
    if (unlikely(peak_kept)) {
        if (allocs)
            peak_change(t, segment.buckets[bucket].size, 0);
        if (frees)
            peak_change(t, segment.buckets[bucket].size, 1);
    }
    if (likely(t->owned)) {
        if (allocs)
            add_owned(&c->allocs, allocs);
        if (frees)
            add_owned(&c->frees, frees);
    } else {
        if (allocs)
            add_relaxed(&c->allocs, (uint64_t)allocs);
        if (frees)
            add_relaxed(&c->frees, (uint64_t)frees);
    }
}

/* A record for the thread, whose line is right for this process; NULL if there is none to be had. */
static struct thread *enter(size_t size) {
    int is_new;
    struct thread *t = thread_get(&is_new);
    if (unlikely(!t)) {
        /* No room for one more thread: its totals are kept at least. */
        add_relaxed(&segment.header->other_bytes, (uint64_t)size);
        add_relaxed(&segment.header->other_calls, 1u);
        return NULL;
    }
    if (unlikely(t->process != process_number()))
        enter_process(t, is_new);
    if (unlikely(is_new)) {
        /* The fast path counted on the record that all new threads share. */
        draw(t);
        add_owned(&t->calls, 1);
        add_owned((uint64_t *)&t->countdown, (uint64_t)0 - size);
    }
    return t;
}

static struct thread paused;

void record_pause(void) {
    int is_new = thread_self == &thread_unknown;
    struct thread *t = load_relaxed(&ready) == RECORDING ? enter(0) : NULL;
    if (!t)
        return;
    t->calls -= (uint64_t)is_new; /* enter() took it for an allocation */
    paused = *t;
    set_countdown(t, NEVER);
}

void record_resume(void) {
    struct thread *t = thread_self;
    if (t == &thread_unknown || paused.pointer != t->pointer)
        return;
    t->countdown = paused.countdown;
    t->calls = paused.calls;
    t->base = paused.base;
}

static uint32_t node_of(struct thread *t, const struct registers *caller, int *truncated) {
    /* A level whose stack pointer is below ours belonged to a signal handler, or to the code that one interrupted, that was
     * left by a longjmp: stacks grow down, so it can't be active any more. (On another stack it says nothing.) */
    uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    while (t->level && t->level <= THREAD_LEVELS && t->level_sp[t->level - 1] < here &&
           here - t->level_sp[t->level - 1] < 1u << 16)
        t->level--;
    uint32_t level = t->level++;
    struct walk *w = thread_walk(t, level);
    uint32_t node;
    if (likely(w)) {
        t->level_sp[level] = here;
        __asm__ volatile("" ::: "memory");
        node = walk_stack(w, caller, truncated);
        __asm__ volatile("" ::: "memory");
    } else {
        uint32_t pc = rules_find(caller->ip);
        *truncated = 1;
        node = pc ? tree_child(tree_truncated(), pc) : 0;
    }
    t->level = level;
    return node;
}

/* While nothing is recorded each thread still gets a line of its own, so that they don't all write to the one they start
 * with. (Before it is known whether anything will be, there is one thread.) */
static COLD void stand_by(void) {
    int is_new;
    struct thread *t = load_relaxed(&ready) == INERT ? thread_get(&is_new) : NULL;
    if (t)
        set_countdown(t, NEVER);
}

void record_block(void *p, size_t size, const struct registers *caller) {
    if (unlikely(load_relaxed(&ready) != RECORDING)) {
        stand_by();
        return;
    }
    int restarted = record_check_process();
    struct thread *t = enter(size);
    if (unlikely(restarted && t)) {
        add_owned(&t->calls, 1);
        add_owned(&t->base, size);
    }
    if (unlikely(!t) || t->countdown >= 0)
        return;
    draw(t);
    if (likely(load_relaxed(&recording))) {
        int truncated = 0;
        uint32_t node = node_of(t, caller, &truncated);
        uint32_t bucket = node ? tree_bucket(node, size) : 0;
        add_owned(&t->samples, 1);
        if (unlikely(truncated))
            add_relaxed(&segment.header->truncated, 1u);
        if (unlikely(!bucket)) {
            count_overflow(size);
        } else {
            int64_t before = shadow_put((uintptr_t)p, bucket);
            count(t, bucket, 1, before < 0); /* can't be remembered: never seen in use rather than for ever */
            if (unlikely(before > SEGMENT_BUCKET_ARENA))
                count(t, (uint32_t)before, 0, 1);
        }
    }
    publish(t);
    if (record_tick)
        record_tick();
}

void record_unloaded(void) {
    if (load_relaxed(&ready) == RECORDING && process_is_ours() && modules_drop_unloaded())
        rules_forget();
}

uint32_t record_detach(void *p) {
    return shadow_take((uintptr_t)p);
}

void record_reattach(void *p, uint32_t bucket) {
    if (bucket)
        shadow_put((uintptr_t)p, bucket);
}

void record_detached_freed(uint32_t bucket) {
    if (bucket <= SEGMENT_BUCKET_ARENA)
        return;
    record_check_process();
    int is_new;
    struct thread *t = thread_get(&is_new);
    if (unlikely(!t)) {
        struct thread shared = {.shard = SEGMENT_SHARDS - 1};
        count(&shared, bucket, 0, 1);
        return;
    }
    if (unlikely(t->process != process_number()))
        enter_process(t, is_new);
    if (unlikely(is_new))
        draw(t);
    count(t, bucket, 0, 1);
}

void record_free(void *p) {
    record_detached_freed(shadow_take((uintptr_t)p));
}

static void publish_one(struct thread *t, void *unused) {
    (void)unused;
    publish(t);
}

void record_publish(void) {
    thread_each(publish_one, NULL);
    store_relaxed(&segment.header->own_bytes, memory_own());
}

void record_totals(struct record_totals *totals) {
    const struct segment_header *h = segment.header;
    record_publish();
    *totals = (struct record_totals){.bytes = load_relaxed(&h->other_bytes), .calls = load_relaxed(&h->other_calls)};
    uint64_t n = load_relaxed(&h->region[SEGMENT_THREADS].used);
    for (uint64_t i = 1; i < n; i++) {
        totals->bytes += load_relaxed(&segment.threads[i].bytes);
        totals->calls += load_relaxed(&segment.threads[i].calls);
        totals->samples += load_relaxed(&segment.threads[i].samples);
    }
}

void record_sampled(uint64_t *bytes, uint64_t *blocks) {
    const struct segment_header *h = segment.header;
    uint64_t n = load_acquire(&h->region[SEGMENT_BUCKETS].used);
    *bytes = *blocks = 0;
    for (uint32_t b = SEGMENT_BUCKET_FIRST; b < n; b++) {
        uint64_t allocs = 0;
        for (uint32_t s = 0; s < SEGMENT_SHARDS; s++)
            if (b < load_acquire(&h->shard_buckets[s]))
                allocs += load_relaxed(&segment.counts[s * h->region[SEGMENT_BUCKETS].capacity + b].allocs);
        *blocks += allocs;
        *bytes += allocs * segment.buckets[b].size;
    }
}
