/* SPDX-License-Identifier: Apache-2.0 */
#include "preload/record/segment.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "preload/record/memory.h"
#include "preload/record/sys.h"

struct segment segment;

/* Capacities when address space is plentiful; all but the first two are halved together until the reservation fits.
 * 4 Mi buckets are four times the most that was asked of any peer, and 2.7 GiB of address space cost nothing. */
static const struct {
    uint32_t entry_size, capacity;
} layout[SEGMENT_REGIONS] = {
    [SEGMENT_MODULES] = {sizeof(struct segment_module), 1u << 14},
    [SEGMENT_STRINGS] = {1, 1u << 24},
    [SEGMENT_PCS] = {sizeof(struct segment_pc), 1u << 22},
    [SEGMENT_NODES] = {sizeof(struct segment_node), 1u << 25},
    [SEGMENT_BUCKETS] = {sizeof(struct segment_bucket), 1u << 22},
    [SEGMENT_COUNTS] = {sizeof(struct segment_count), SEGMENT_SHARDS << 22},
    [SEGMENT_PEAK] = {sizeof(uint64_t), 1u << 22},
    [SEGMENT_THREADS] = {sizeof(struct segment_thread), 1u << 16},
};
#define MAX_HALVINGS 8

static uint64_t lay_out(struct segment_header *h, int halvings) {
    uint64_t at = SEGMENT_PAGE;
    for (int r = 0; r < SEGMENT_REGIONS; r++) {
        uint64_t capacity = layout[r].capacity >> (r >= SEGMENT_PCS ? halvings : 0);
        h->region[r] = (struct segment_extent){at, layout[r].entry_size, capacity, 0};
        at += memory_pages(capacity * layout[r].entry_size);
    }
    return at;
}

/* Under a limit of the address space only a small part of it is ours to take. */
static uint64_t address_space(void) {
    struct rlimit limit;
    if (sys4(SYS_prlimit64, 0, RLIMIT_AS, 0, &limit) < 0 || limit.rlim_cur == RLIM_INFINITY)
        return UINT64_MAX;
    return limit.rlim_cur / 16;
}

/* Puts memory under the bytes [from, to) of the segment, both multiples of a page. */
static int open_range(uint64_t from, uint64_t to) {
    char *at = (char *)segment.header + from;
    int ret = memory_open(at, to - from);
    /* One call in place of a fault a page. Where the kernel doesn't know it, the faults do. */
    if (ret == 0)
        sys_madvise(at, to - from, MADV_POPULATE_WRITE);
    return ret;
}

/* How many entries to have memory for when `need` are needed: grow by a quarter, by 16 KiB at least and 1 MiB at most. */
static uint64_t grown(uint64_t need, uint64_t entry_size, uint64_t capacity) {
    uint64_t bytes = need * entry_size;
    uint64_t more = bytes / 4 < 4 * MEMORY_PAGE ? 4 * MEMORY_PAGE : bytes / 4 > 1u << 20 ? 1u << 20 : bytes / 4;
    uint64_t entries = memory_pages(bytes + more) / entry_size;
    return entries < capacity ? entries : capacity;
}

/* Opens what lies between the old and the new number of entries and moves the mark up. Two threads may do the same at
 * once: opening twice is harmless, and the mark only grows. */
static int open_entries(uint64_t base, uint64_t entry_size, uint64_t have, uint64_t want) {
    uint64_t from = base + (have * entry_size & ~(MEMORY_PAGE - 1));
    uint64_t to = base + memory_pages(want * entry_size);
    if (have * entry_size & (MEMORY_PAGE - 1))
        from += MEMORY_PAGE; /* its page is open already */
    return from < to ? open_range(from, to) : 0;
}

int segment_open_region(enum segment_region region, uint64_t n) {
    struct segment_extent *e = &segment.header->region[region];
    uint64_t have = load_acquire(&segment.committed[region]);
    if (n <= have)
        return 1;
    if (n > e->capacity)
        return 0;
    uint64_t want = grown(n, e->entry_size, e->capacity);
    if (open_entries(e->offset, e->entry_size, have, want) < 0)
        return 0;
    while (have < want && !cas_acq_rel(&segment.committed[region], &have, want))
        ;
    return 1;
}

int segment_open_counts(uint32_t shard, uint32_t bucket) {
    struct segment_header *h = segment.header;
    uint64_t capacity = h->region[SEGMENT_BUCKETS].capacity;
    uint32_t have = load_acquire(&h->shard_buckets[shard]);
    if (bucket < have)
        return 1;
    uint32_t want = (uint32_t)grown((uint64_t)bucket + 1, sizeof(struct segment_count), capacity);
    uint64_t base = h->region[SEGMENT_COUNTS].offset + shard * capacity * sizeof(struct segment_count);
    if (open_entries(base, sizeof(struct segment_count), have, want) < 0)
        return 0;
    while (have < want && !cas_acq_rel(&h->shard_buckets[shard], &have, want))
        ;
    return 1;
}

uint32_t segment_take(enum segment_region region, uint32_t n) {
    uint64_t *used = &segment.header->region[region].used;
    uint64_t at = load_relaxed(used);
    do {
        if (!segment_open_region(region, at + n))
            return 0;
    } while (!cas_acq_rel(used, &at, at + n));
    return (uint32_t)at;
}

uint32_t segment_store_string(const char *s, size_t len) {
    uint32_t at = len && len < 1u << 20 ? segment_take(SEGMENT_STRINGS, (uint32_t)len + 1) : 0;
    if (at)
        for (size_t i = 0; i < len; i++)
            segment.strings[at + i] = s[i];
    return at;
}

static void set_pointers(char *base) {
    struct segment_header *h = (struct segment_header *)base;
    segment.modules = (struct segment_module *)(base + h->region[SEGMENT_MODULES].offset);
    segment.strings = base + h->region[SEGMENT_STRINGS].offset;
    segment.pcs = (struct segment_pc *)(base + h->region[SEGMENT_PCS].offset);
    segment.nodes = (struct segment_node *)(base + h->region[SEGMENT_NODES].offset);
    segment.buckets = (struct segment_bucket *)(base + h->region[SEGMENT_BUCKETS].offset);
    segment.counts = (struct segment_count *)(base + h->region[SEGMENT_COUNTS].offset);
    segment.peak = (uint64_t *)(base + h->region[SEGMENT_PEAK].offset);
    segment.threads = (struct segment_thread *)(base + h->region[SEGMENT_THREADS].offset);
}

static int reserve_entries(void) {
    static const uint32_t reserved[SEGMENT_REGIONS] = {
        [SEGMENT_MODULES] = 1,        [SEGMENT_STRINGS] = 1,       [SEGMENT_PCS] = SEGMENT_PC_FIRST, [SEGMENT_NODES] = 1,
        [SEGMENT_BUCKETS] = SEGMENT_BUCKET_FIRST, [SEGMENT_THREADS] = 1,
    };
    for (int r = 0; r < SEGMENT_REGIONS; r++) {
        if (!reserved[r])
            continue;
        if (!segment_open_region(r, reserved[r]))
            return -ENOMEM;
        segment.header->region[r].used = reserved[r];
    }
    return 0;
}

int segment_create(void) {
    struct segment_header plan = {0};
    char *base = NULL;
    for (int halvings = 0; !base && halvings <= MAX_HALVINGS; halvings++) {
        plan.size = lay_out(&plan, halvings);
        if (plan.size <= address_space() || halvings == MAX_HALVINGS)
            base = memory_reserve(plan.size);
    }
    if (!base || memory_open(base, SEGMENT_PAGE) < 0)
        return -ENOMEM;
    segment.header = (struct segment_header *)base;
    plan.magic = SEGMENT_MAGIC;
    plan.version = SEGMENT_VERSION;
    plan.header_size = sizeof plan;
    *segment.header = plan;
    set_pointers(base);
    int ret = reserve_entries();
    if (ret < 0)
        segment.header = NULL;
    return ret;
}
