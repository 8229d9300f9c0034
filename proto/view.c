/* SPDX-License-Identifier: Apache-2.0 */
/* How: at opening, the header is copied and every extent is checked once; the copies are what accessors use, so that
 * nothing that was checked can be changed afterwards. Each accessor then needs no more than a compare of an index. */
#include "proto/view.h"

#include <errno.h>
#include <string.h>

static const uint32_t entry_size[SEGMENT_REGIONS] = {
    [SEGMENT_MODULES] = sizeof(struct segment_module),
    [SEGMENT_STRINGS] = 1,
    [SEGMENT_PCS] = sizeof(struct segment_pc),
    [SEGMENT_NODES] = sizeof(struct segment_node),
    [SEGMENT_BUCKETS] = sizeof(struct segment_bucket),
    [SEGMENT_COUNTS] = sizeof(struct segment_count),
    [SEGMENT_PEAK] = sizeof(uint64_t),
    [SEGMENT_THREADS] = sizeof(struct segment_thread),
};

static inline uint32_t load32(const void *from) {
    return __atomic_load_n((const uint32_t *)from, __ATOMIC_ACQUIRE);
}

static inline uint64_t load64(const void *from) {
    return __atomic_load_n((const uint64_t *)from, __ATOMIC_ACQUIRE);
}

/* Copies `size` bytes, a multiple of 8, word by word: what is copied can be checked and then won't change again. */
static inline void load_words(void *to, const void *from, size_t size) {
    const uint64_t *source = from;
    for (size_t i = 0; i < size / sizeof(uint64_t); i++) {
        uint64_t word = __atomic_load_n(&source[i], __ATOMIC_RELAXED);
        memcpy((char *)to + i * sizeof word, &word, sizeof word);
    }
}

_Static_assert(sizeof(struct segment_header) % sizeof(uint64_t) == 0, "the header is copied by words");

static int refuse(struct segment_view *view, int error, const char *reason) {
    view->reason = reason;
    return error;
}

/* Where a region lies, checked against the segment's size; nothing here can overflow. */
static const char *open_region(struct segment_view *view, enum segment_region r, const unsigned char *base) {
    const struct segment_extent *extent = &view->header.region[r];
    uint64_t size = view->header.size;

    if (extent->entry_size != entry_size[r])
        return "a region's entries are of another size";
    /* A region may be left out; then no index is in it. */
    if (extent->capacity == 0)
        return NULL;
    if (extent->offset % SEGMENT_PAGE != 0 || extent->offset < SEGMENT_PAGE)
        return "a region is misplaced";
    if (extent->offset > size || extent->capacity > (size - extent->offset) / entry_size[r])
        return "a region reaches beyond the end";
    view->region[r] = base + extent->offset;
    view->capacity[r] = extent->capacity < UINT32_MAX ? (uint32_t)extent->capacity : UINT32_MAX;
    return NULL;
}

static uint32_t live_used(const struct segment_view *view, enum segment_region r) {
    uint64_t used = load64(&view->live->region[r].used);
    return used < view->capacity[r] ? (uint32_t)used : view->capacity[r];
}

/* How many entries are in use, in an order that makes what an entry refers to be in use as well: it was handed out
 * before. So a bucket's node is in the view, the nodes' pcs are, and so on. */
static void count_used(struct segment_view *view) {
    static const enum segment_region order[] = {SEGMENT_PEAK,    SEGMENT_BUCKETS, SEGMENT_NODES,  SEGMENT_PCS,
                                                SEGMENT_MODULES, SEGMENT_STRINGS, SEGMENT_THREADS};

    for (size_t i = 0; i < sizeof order / sizeof order[0]; i++) {
        enum segment_region r = order[i];
        view->used[r] = live_used(view, r);
    }
}

int segment_view_open(struct segment_view *view, const void *base, size_t len) {
    memset(view, 0, sizeof *view);
    view->reason = "";
    if ((uintptr_t)base % sizeof(uint64_t) != 0)
        return refuse(view, -EINVAL, "not aligned");
    if (len < SEGMENT_PAGE)
        return refuse(view, -ENODATA, "too short for a segment");

    struct segment_header *header = &view->header;
    load_words(header, base, sizeof *header);
    header->name[sizeof header->name - 1] = '\0';
    if (header->magic != SEGMENT_MAGIC)
        return refuse(view, -EINVAL, "not a segment");
    if (header->version != SEGMENT_VERSION || header->header_size != sizeof *header)
        return refuse(view, -EPROTO, "a segment of another version");
    if (header->size < SEGMENT_PAGE)
        return refuse(view, -EINVAL, "the size is wrong");
    if (header->size > len)
        return refuse(view, -ENODATA, "cut off");

    for (unsigned r = 0; r < SEGMENT_REGIONS; r++) {
        const char *wrong = open_region(view, (enum segment_region)r, base);
        if (wrong)
            return refuse(view, -EINVAL, wrong);
    }
    uint64_t counts = (uint64_t)view->capacity[SEGMENT_BUCKETS] * SEGMENT_SHARDS;
    if (header->region[SEGMENT_COUNTS].capacity < counts)
        return refuse(view, -EINVAL, "too few counts for the buckets");
    view->live = base;
    count_used(view);
    return 0;
}

/* The entry, or NULL: index 0 and those not in use are none. */
static inline const void *entry(const struct segment_view *view, enum segment_region r, uint32_t index,
                                uint32_t limit) {
    if (index == 0 || index >= limit)
        return NULL;
    return view->region[r] + (size_t)index * entry_size[r];
}

bool segment_view_module(const struct segment_view *view, uint32_t index, struct segment_module *out) {
    const struct segment_module *module = entry(view, SEGMENT_MODULES, index, view->used[SEGMENT_MODULES]);
    /* `ready` is stored last: read it first. */
    if (!module || load32(&module->ready) != 1)
        return false;
    load_words(out, module, sizeof *out);
    return out->start <= out->limit;
}

bool segment_view_pc(const struct segment_view *view, uint32_t index, struct segment_pc *out) {
    const struct segment_pc *pc = entry(view, SEGMENT_PCS, index, view->used[SEGMENT_PCS]);
    if (!pc)
        return false;
    load_words(out, pc, sizeof *out);
    return true;
}

bool segment_view_node(const struct segment_view *view, uint32_t index, struct segment_node *out) {
    const struct segment_node *node = entry(view, SEGMENT_NODES, index, view->used[SEGMENT_NODES]);
    if (!node)
        return false;
    /* The newest bucket was published through this field: everything it leads to was written before. */
    out->bucket = load32(&node->bucket);
    out->parent = load32(&node->parent);
    out->pc = load32(&node->pc);
    out->child = load32(&node->child);
    return out->parent < index && out->pc != 0 && out->pc < view->used[SEGMENT_PCS];
}

bool segment_view_bucket(const struct segment_view *view, uint32_t index, struct segment_bucket *out) {
    uint32_t limit = view->used[SEGMENT_BUCKETS];
    /* Not the capacity: what was never handed out may have no memory under it. */
    if (index >= limit)
        limit = live_used(view, SEGMENT_BUCKETS);
    const struct segment_bucket *bucket = entry(view, SEGMENT_BUCKETS, index, limit);
    if (!bucket)
        return false;
    load_words(out, bucket, sizeof *out);
    return out->next < index;
}

static inline uint64_t add(uint64_t a, uint64_t b) {
    uint64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

/* Of the bucket's counts in all shards. */
enum counter { FREES, ALLOCS };
static uint64_t sum(const struct segment_view *view, uint32_t bucket, enum counter counter) {
    const struct segment_count *c = (const struct segment_count *)view->region[SEGMENT_COUNTS] + bucket;
    uint64_t total = 0;
    /* A shard may get memory for the bucket at any moment, so which ones have it is asked anew each time. */
    for (unsigned s = 0; s < SEGMENT_SHARDS; s++, c += view->capacity[SEGMENT_BUCKETS])
        if (bucket < load32(&view->live->shard_buckets[s]))
            total = add(total, load64(counter == FREES ? &c->frees : &c->allocs));
    return total;
}

/* Frees come first, since a block may be freed in another shard than it came from. What was allocated and freed before the
 * allocations are read seems to be in use: a few blocks, but any number if the reader had to wait in between. */
#define FEW 4u
#define TRIES 8
struct segment_count segment_view_counts(const struct segment_view *view, uint32_t bucket) {
    struct segment_count found = {0, 0};
    if (!entry(view, SEGMENT_BUCKETS, bucket, view->used[SEGMENT_BUCKETS]))
        return found;
    for (int tries = 0; tries < TRIES; tries++) {
        found.frees = sum(view, bucket, FREES);
        found.allocs = sum(view, bucket, ALLOCS);
        if (found.allocs <= found.frees || sum(view, bucket, FREES) - found.frees <= FEW)
            break;
    }
    if (found.frees > found.allocs)
        found.frees = found.allocs;
    return found;
}

uint64_t segment_view_peak(const struct segment_view *view, uint32_t bucket) {
    const uint64_t *peak = entry(view, SEGMENT_PEAK, bucket, view->used[SEGMENT_PEAK]);
    return peak ? load64(peak) : 0;
}

uint64_t segment_view_peak_version(const struct segment_view *view) {
    return load64(&view->live->peak_version);
}

size_t segment_view_text(const struct segment_view *view, uint32_t offset, size_t len, char *buf, size_t size) {
    size_t limit = view->used[SEGMENT_STRINGS];
    size_t n = 0;

    buf[0] = '\0';
    if (offset == 0 || offset >= limit)
        return 0;
    if (len > limit - offset)
        len = limit - offset;
    const unsigned char *from = view->region[SEGMENT_STRINGS] + offset;
    for (n = 0; n < len; n++) {
        char c = (char)__atomic_load_n(&from[n], __ATOMIC_RELAXED);
        if (c == '\0')
            break;
        if (n + 1 >= size) {
            buf[0] = '\0';
            return 0;
        }
        buf[n] = c;
    }
    buf[n] = '\0';
    return n;
}

size_t segment_view_bytes(const struct segment_view *view, uint32_t offset, size_t len, void *buf, size_t size) {
    size_t limit = view->used[SEGMENT_STRINGS];
    if (offset == 0 || offset >= limit || len > limit - offset || len > size)
        return 0;
    const unsigned char *from = view->region[SEGMENT_STRINGS] + offset;
    for (size_t i = 0; i < len; i++)
        ((unsigned char *)buf)[i] = __atomic_load_n(&from[i], __ATOMIC_RELAXED);
    return len;
}

/* Slot 0 is reserved and zero, so it does no harm in the sum. */
struct segment_thread segment_view_totals(const struct segment_view *view) {
    struct segment_thread sum = {.bytes = view->header.other_bytes, .calls = view->header.other_calls};
    const struct segment_thread *thread = (const struct segment_thread *)view->region[SEGMENT_THREADS];
    for (uint32_t i = 0; i < view->used[SEGMENT_THREADS]; i++) {
        sum.bytes = add(sum.bytes, load64(&thread[i].bytes));
        sum.calls = add(sum.calls, load64(&thread[i].calls));
        sum.samples = add(sum.samples, load64(&thread[i].samples));
    }
    return sum;
}
