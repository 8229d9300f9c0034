/* SPDX-License-Identifier: Apache-2.0 */
#include "preload/record/peak.h"

#include <time.h>

#include "preload/record/process.h"
#include "preload/record/segment.h"
#include "preload/record/sys.h"

int peak_kept;

static uint64_t rate;
static int64_t in_use; /* as far as the threads have told */
static int64_t highest;
static uint32_t version; /* of the changes held back by the threads: those of an earlier process don't count */

void peak_init(uint64_t r) {
    rate = r;
}

static int64_t weight(uint64_t size) {
    return (int64_t)(rate == 1 || size > rate ? size : rate);
}

void peak_restart(void) {
    struct segment_header *h = segment.header;
    h->peak_version = 0; /* odd, if a thread of the parent's was at it */
    in_use = 0;
    highest = 0;
    version++;
    for (uint32_t b = SEGMENT_BUCKET_FIRST; peak_kept && b < h->inherited_buckets; b++) {
        const struct segment_count *c = segment_count_at(0, b);
        if (c)
            in_use += (int64_t)c->allocs * weight(segment.buckets[b].size);
    }
}

static uint64_t blocks_in_use(uint32_t bucket) {
    const struct segment_header *h = segment.header;
    uint64_t frees = 0, allocs = 0;
    for (int reading_allocs = 0; reading_allocs < 2; reading_allocs++)
        for (uint32_t s = 0; s < SEGMENT_SHARDS; s++) {
            if (bucket >= load_acquire(&h->shard_buckets[s]))
                continue;
            const struct segment_count *c = &segment.counts[s * h->region[SEGMENT_BUCKETS].capacity + bucket];
            if (reading_allocs)
                allocs += load_acquire(&c->allocs);
            else
                frees += load_acquire(&c->frees);
        }
    return allocs > frees ? allocs - frees : 0;
}

static void copy(int64_t now_in_use) {
    struct segment_header *h = segment.header;
    uint64_t n = load_acquire(&h->region[SEGMENT_BUCKETS].used);
    struct timespec now = {0};
    if (!segment_open_region(SEGMENT_PEAK, n))
        return;
    store_release(&h->peak_version, h->peak_version + 1);
    for (uint32_t b = SEGMENT_BUCKET_FIRST; b < n; b++)
        store_relaxed(&segment.peak[b], blocks_in_use(b));
    sys2(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
    store_relaxed(&h->region[SEGMENT_PEAK].used, n);
    store_relaxed(&h->peak_bytes, (uint64_t)now_in_use);
    store_relaxed(&h->peak_mono_ns, (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec);
    store_release(&h->peak_version, h->peak_version + 1);
}

/* Whoever else is at it has as good a reason. */
static void take(int64_t now) {
    if (exchange_acquire(&process_page->copying_peak, 1u))
        return;
    store_relaxed(&highest, now);
    copy(now);
    store_release(&process_page->copying_peak, 0u);
}

static int64_t tell(struct thread *t) {
    int64_t now = add_relaxed(&in_use, t->held) + t->held;
    t->held = 0;
    return now;
}

static inline void hold(struct thread *t, int64_t change) {
    if (unlikely(t->held_version != version)) {
        t->held_version = version;
        t->held = 0;
    }
    t->held += change;
    t->peak_credit++;
}

static inline int holds_enough(const struct thread *t) {
    int64_t peak = load_relaxed(&highest), step = peak / 2048 > 4096 ? peak / 2048 : 4096;
    return unlikely(t->held >= step || t->held <= -step);
}

void peak_allocated(struct thread *t, uint64_t size) {
    hold(t, weight(size));
    if (!holds_enough(t))
        return;
    int64_t now = tell(t), peak = load_relaxed(&highest);
    if (now > peak + peak / 256)
        take(now);
}

/* What a copy costs for each bucket, in credit, and how far a thread may be in debt. */
#define COST 4
#define DEBT (1 << 18)

static COLD void before_fall(struct thread *t) {
    int64_t cost = COST * (int64_t)load_relaxed(&segment.header->region[SEGMENT_BUCKETS].used);
    if (t->peak_credit - cost < -DEBT)
        return;
    t->peak_credit -= cost;
    take(tell(t));
}

void peak_freed(struct thread *t, uint64_t size) {
    hold(t, 0);
    if (unlikely(load_relaxed(&in_use) + t->held > load_relaxed(&highest)))
        before_fall(t);
    t->held -= weight(size);
    if (holds_enough(t))
        tell(t);
}

void peak_settle(void) {
    const struct segment_header *h = segment.header;
    uint64_t n = load_acquire(&h->region[SEGMENT_BUCKETS].used), copied = load_acquire(&h->region[SEGMENT_PEAK].used);
    int64_t now = 0, then = 0;
    for (uint32_t b = SEGMENT_BUCKET_FIRST; b < n; b++) {
        now += (int64_t)blocks_in_use(b) * weight(segment.buckets[b].size);
        then += b < copied ? (int64_t)load_relaxed(&segment.peak[b]) * weight(segment.buckets[b].size) : 0;
    }
    if (now > then)
        take(now);
}
