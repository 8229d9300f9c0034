/* SPDX-License-Identifier: Apache-2.0 */
#include "preload/record/record.h"

#include "preload/record/index.h"
#include "preload/record/modules.h"
#include "preload/record/peak.h"
#include "preload/record/process.h"
#include "preload/record/rules.h"
#include "preload/record/sampler.h"
#include "preload/record/segment.h"
#include "preload/record/segment_file.h"
#include "preload/record/tree.h"

void (*record_tick)(void);

static uint64_t rate;
static uint64_t seed;
static int repeatable;
static uint32_t recording;
static enum { NOT_YET, RECORDING, INERT } ready;

/* A countdown that does not end: 2^62 bytes. */
#define NEVER ((int64_t)1 << 62)

int record_init(const struct record_settings *s) {
    rate = s->rate;
    seed = s->seed;
    repeatable = s->repeatable;
    peak_init(rate);
    shadow_init(s->granule, rate == 1);
    if (!rules_init() || !tree_init() || !process_init())
        return -12; /* ENOMEM */
    record_switch(s->started);
    thread_self = &thread_unknown; /* what ran before this was not counted */
    store_release(&ready, RECORDING);
    return 0;
}

void record_never(void) {
    store_release(&ready, INERT);
}

void record_give_up(int alone) {
    process_give_up();
    record_never();
    segment_file_remove();
    if (!alone)
        return;
    segment_discard();
    shadow_discard();
    tree_discard();
    rules_discard();
    thread_discard_walks();
}

#define NOTE_SWITCHED "recording was switched off for a time: what was allocated then is in the exact totals alone"

void record_switch(int on) {
    struct segment_header *h = segment.header;
    if (!on && h && !h->note)
        h->note = segment_store_string(NOTE_SWITCHED, sizeof NOTE_SWITCHED - 1);
    store_release(&recording, (uint32_t)(on != 0));
}

int record_is_on(void) {
    return load_relaxed(&ready) == RECORDING && process_is_ours();
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
    /* At rate 1 the countdown is left below zero for good. */
    if (rate > 1)
        set_countdown(t, sampler_draw(rate, &t->random));
    else if (t->countdown >= 0)
        set_countdown(t, -1);
}

/* Makes the line right for this process: of a new thread, or of the one that forked. The record of a new one may hold the
 * totals of a thread that ended, which go on in this process and are none of a child's. */
static void enter_process(struct thread *t, int is_new) {
    uint32_t slot = segment_take(SEGMENT_THREADS, 1);
    if (is_new && t->process != THREAD_NO_PROCESS) {
        store_relaxed(&t->base, (uint64_t)t->countdown);
        store_relaxed(&t->calls, 0u);
    }
    store_relaxed(&t->samples, 0u);
    t->counts = &segment.counts[(uint64_t)t->shard * segment.header->region[SEGMENT_BUCKETS].capacity];
    t->open = 0;
    /* Who publishes for all threads must not take a slot of the parent's for one of this process. */
    store_relaxed(&t->publish, NULL);
    store_release(&t->process, process_number());
    store_relaxed(&t->publish, slot ? &segment.threads[slot] : NULL);
    uint64_t mix = seed ^ index_hash(t->process, slot ? slot : t->pointer);
    t->random = sampler_random(&mix);
}

/* The calling thread's record, right for this process; NULL if there is no room for one more. *is_new: the fast path has not
 * counted on it yet, and its countdown is just drawn. */
static COLD struct thread *get_ready(int *is_new) {
    *is_new = thread_self == &thread_unknown;
    struct thread *t = thread_get();
    if (t && t->process != process_number())
        enter_process(t, *is_new);
    if (t && *is_new)
        draw(t);
    return t;
}

void record_reseed(void) {
    const struct segment_header *h = segment.header;
    seed = index_hash(seed, h->pid ^ (repeatable ? 0 : h->start_mono_ns << 20)) | 1;
}

void record_redraw(void) {
    struct thread *t = thread_self;
    if (load_relaxed(&ready) != RECORDING || t == &thread_unknown)
        return;
    enter_process(t, 0);
    draw(t);
}

/* Of any thread, while it goes on. */
static void publish(struct thread *t) {
    if (unlikely(load_acquire(&t->process) != process_number()))
        return;
    struct segment_thread *s = load_relaxed(&t->publish);
    if (unlikely(!s))
        return;
    store_relaxed(&s->bytes, load_relaxed(&t->base) - (uint64_t)load_relaxed(&t->countdown));
    store_relaxed(&s->calls, load_relaxed(&t->calls));
    store_relaxed(&s->samples, load_relaxed(&t->samples));
}

static COLD void count_overflow(uint64_t size) {
    struct segment_overflow *o = &segment.header->overflow[size ? 64 - __builtin_clzll(size) : 0];
    add_relaxed(&o->allocs, 1u);
    add_relaxed(&o->bytes, size);
}

/* Makes sure that the thread's shard has counters for the bucket. Those for a free are had at any price: the block would stay in
 * use for ever. */
static COLD int open_counts(struct thread *t, uint32_t bucket, int anyway) {
    if (!segment_open_counts(t->shard, bucket, anyway))
        return 0;
    t->open = load_acquire(&segment.header->shard_buckets[t->shard]);
    return 1;
}
static inline int has_counts(struct thread *t, uint32_t bucket, int anyway) {
    return likely(bucket < t->open) || open_counts(t, bucket, anyway);
}

enum event { ALLOCATED, FREED };

static inline void count(struct thread *t, uint32_t bucket, enum event event) {
    if (unlikely(!has_counts(t, bucket, 1))) {
        add_relaxed(&segment.header->dropped, 1u);
        return;
    }
    if (unlikely(peak_kept) && event == FREED) /* may copy the counts, this one among them */
        peak_freed(t, segment.buckets[bucket].size);
    uint64_t *counter = event == FREED ? &t->counts[bucket].frees : &t->counts[bucket].allocs;
    if (likely(t->owned))
        add_owned(counter, 1);
    else
        add_relaxed(counter, 1u);
    if (unlikely(peak_kept) && event == ALLOCATED)
        peak_allocated(t, segment.buckets[bucket].size);
}

static struct thread paused;

void record_pause(void) {
    int is_new;
    struct thread *t = load_relaxed(&ready) == RECORDING ? get_ready(&is_new) : NULL;
    if (!t)
        return;
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

static inline uint32_t node_of(struct thread *t, const struct registers *caller, int *truncated) {
    struct thread_mark mark;
    mark.self = &mark;
    uint32_t level = likely(thread_use_first(t, &mark)) ? 0 : thread_use_any(t, &mark);
    struct walk *w = likely(level < THREAD_LEVELS) ? t->walk[level] : NULL;
    uint32_t node;
    if (likely(w != NULL) || (w = thread_walk(t, level))) {
        node = walk_stack(w, caller, truncated);
    } else {
        *truncated = 1;
        node = walk_leaf_alone(caller);
    }
    mark.self = NULL; /* whoever left a walk from here is seen to have done so */
    if (likely(level < THREAD_LEVELS))
        store_release(&t->user[level], NULL);
    return node;
}

static inline void record_sample(struct thread *t, void *p, size_t size, const struct registers *caller) {
    int truncated = 0;
    uint32_t *entry = shadow_entry((uintptr_t)p);
    uint32_t node = node_of(t, caller, &truncated);
    uint32_t bucket = node ? tree_bucket(node, size) : 0;
    add_owned(&t->samples, 1);
    if (unlikely(truncated))
        add_relaxed(&segment.header->truncated, 1u);
    if (unlikely(!bucket) || unlikely(!has_counts(t, bucket, 0))) {
        count_overflow(size);
        return;
    }
    int64_t before = shadow_put_at(entry, (uintptr_t)p, bucket);
    if (unlikely(before < 0)) { /* its free would not be noticed */
        count_overflow(size);
        return;
    }
    count(t, bucket, ALLOCATED);
    if (unlikely(before > SEGMENT_BUCKET_ARENA))
        count(t, (uint32_t)before, FREED);
}

/* While nothing is recorded each thread still gets a line of its own, so that they don't all write to the one they start
 * with. (Before it is known whether anything will be, there is one thread.) */
static COLD void stand_by(void) {
    struct thread *t = load_relaxed(&ready) == INERT ? thread_get() : NULL;
    if (t)
        set_countdown(t, NEVER);
}

/* No room for one more thread: its totals are kept, and what would have been sampled of it is over the memory limit. It has no
 * countdown of its own; one that starts anew with each block samples the same share, as what is left of a countdown does not depend
 * on what went by. */
static COLD void count_without_record(size_t size) {
    add_relaxed(&segment.header->other_bytes, (uint64_t)size);
    add_relaxed(&segment.header->other_calls, 1u);
    uint64_t mix = seed ^ __builtin_ia32_rdtsc();
    uint64_t random = sampler_random(&mix);
    if (load_relaxed(&recording) && (rate == 1 || sampler_draw(rate, &random) < (int64_t)size))
        count_overflow(size);
}

/* The first time in a thread, or in a forked child: what the fast path did is done again on the right line. Returns NULL if that
 * was all there is to do. */
static COLD struct thread *begin(size_t size) {
    if (load_relaxed(&ready) != RECORDING) {
        stand_by();
        return NULL;
    }
    int is_new, restarted = record_check_process();
    if (load_relaxed(&ready) != RECORDING) /* a child that is not to be followed */
        return NULL;
    struct thread *t = get_ready(&is_new);
    if (!t) {
        count_without_record(size);
        return NULL;
    }
    if (is_new || restarted) {
        add_owned(&t->calls, 1);
        if (is_new)
            add_owned((uint64_t *)&t->countdown, (uint64_t)0 - size);
        else
            add_owned(&t->base, size);
    }
    return t->countdown < 0 ? t : NULL;
}

void record_block(void *p, size_t size, const struct registers *caller) {
    struct thread *t = thread_self;
    if (unlikely(!process_is(t->process))) {
        t = begin(size);
        if (!t)
            return;
    }
    if (rate != 1)
        draw(t);
    if (likely(load_relaxed(&recording)))
        record_sample(t, p, size, caller);
    publish(t);
    if (unlikely(record_tick != NULL))
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

/* No record for the thread: the last shard is everybody's. */
static COLD void count_free_by_nobody(uint32_t bucket) {
    struct segment_count *c = segment_count_at(SEGMENT_SHARDS - 1, bucket);
    if (c)
        add_relaxed(&c->frees, 1u);
}

static COLD struct thread *ready_to_free(void) {
    int is_new;
    if (load_relaxed(&ready) != RECORDING)
        return NULL;
    record_check_process();
    return load_relaxed(&ready) == RECORDING ? get_ready(&is_new) : NULL;
}

void record_detached_freed(uint32_t bucket) {
    struct thread *t = thread_self;
    if (unlikely(bucket <= SEGMENT_BUCKET_ARENA))
        return;
    if (unlikely(!process_is(t->process))) {
        t = ready_to_free();
        if (!t) {
            if (load_relaxed(&ready) == RECORDING)
                count_free_by_nobody(bucket);
            return;
        }
    }
    count(t, bucket, FREED);
}

void record_free(void *p) {
    record_detached_freed(shadow_take((uintptr_t)p));
}

static void publish_one(struct thread *t, void *unused) {
    (void)unused;
    publish(t);
}

void record_publish(void) {
    struct thread *t = thread_self;
    /* The thread that forked may not have been here since. */
    if (t != &thread_unknown && t->process != process_number())
        enter_process(t, 0);
    thread_each(publish_one, NULL);
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
