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

void peak_restart(void) {
    struct segment_header *h = segment.header;
    h->peak_version = 0; /* odd, if a thread of the parent's was at it */
    in_use = 0;
    highest = 0;
    version++;
    for (uint32_t b = SEGMENT_BUCKET_FIRST; peak_kept && b < h->inherited_buckets; b++) {
        const struct segment_count *c = segment_count_at(0, b);
        uint64_t size = segment.buckets[b].size;
        if (c)
            in_use += (int64_t)(c->allocs * (size > rate ? size : rate == 1 ? size : rate));
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

void peak_change(struct thread *t, uint64_t size, int freed) {
    int64_t weight = (int64_t)(rate == 1 || size > rate ? size : rate);
    int64_t peak = load_relaxed(&highest);
    int64_t step = peak / 2048 > 4096 ? peak / 2048 : 4096;
    if (unlikely(t->held_version != version)) {
        t->held_version = version;
        t->held = 0;
    }
    t->held += freed ? -weight : weight;
    if (likely(t->held < step && t->held > -step))
        return;
    int64_t now = add_relaxed(&in_use, t->held) + t->held;
    t->held = 0;
    if (now <= peak + peak / 256 || exchange_acquire(&process_page->copying_peak, 1u))
        return;
    store_relaxed(&highest, now);
    copy(now);
    store_release(&process_page->copying_peak, 0u);
}
