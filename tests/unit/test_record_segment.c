/* SPDX-License-Identifier: Apache-2.0 */
/* The segment's writer: entries handed out one by one, memory put under them as they are, limits, and the account of
 * it. */
#include <errno.h>
#include <stdlib.h>
#include <sys/syscall.h>

#include "preload/record/memory.h"
#include "preload/record/segment.h"
#include "preload/record/sys.h"
#include "tests/unit/record_helpers.h"
#include "tests/unit/tap.h"

static struct segment_extent *extent(enum segment_region r) {
    return &segment.header->region[r];
}

static const struct segment_identity nobody = {.uid = 0xfffffffe, .pid = 1, .start_ticks = 1};

static void test_no_segment(void) {
    test_fail_syscall(SYS_mmap, ENOMEM, 0, TEST_ALWAYS);
    is(segment_create(&nobody, UINT64_MAX), -ENOMEM, "without address space there is no segment");
    ok(!segment.header, "and none is pretended");
    test_fail_syscall(SYS_mprotect, ENOMEM, 0, TEST_ALWAYS);
    is(segment_create(&nobody, UINT64_MAX), -ENOMEM, "nor without memory");
    test_fail_syscall(0, 0, 0, 0);
    ok(!segment.header, "and none is pretended then");
}

static void test_new(void) {
    const struct segment_header *h = segment.header;
    ok(h->magic == SEGMENT_MAGIC && h->version == SEGMENT_VERSION && h->header_size == sizeof *h,
       "the header says what it is");
    int apart = 1, whole = 1;
    uint64_t end = SEGMENT_PAGE;
    for (int r = 0; r < SEGMENT_REGIONS; r++) {
        apart &= extent(r)->offset >= end && extent(r)->offset % SEGMENT_PAGE == 0;
        end = extent(r)->offset + extent(r)->capacity * extent(r)->entry_size;
        whole &= extent(r)->capacity > 0;
    }
    ok(apart && whole && end <= h->size, "regions don't overlap and lie within");
    ok(extent(SEGMENT_BUCKETS)->used == SEGMENT_BUCKET_FIRST && extent(SEGMENT_PCS)->used == SEGMENT_PC_FIRST &&
           extent(SEGMENT_NODES)->used == 1 && extent(SEGMENT_STRINGS)->used == 1 &&
           extent(SEGMENT_MODULES)->used == 1 && extent(SEGMENT_THREADS)->used == 1,
       "reserved entries are taken");
    is(extent(SEGMENT_COUNTS)->capacity, SEGMENT_SHARDS * extent(SEGMENT_BUCKETS)->capacity,
       "counters for all buckets in all shards");
}

static void test_taking(void) {
    enum { N = 300000 };
    int rising = 1, zero = 1, kept = 1;
    uint64_t own = memory_own();
    uint32_t first = (uint32_t)extent(SEGMENT_NODES)->used;
    for (uint32_t i = 0; i < N; i++) {
        uint32_t n = segment_take(SEGMENT_NODES, 1);
        rising &= n == first + i;
        zero &= !segment.nodes[n].parent && !segment.nodes[n].pc && !segment.nodes[n].bucket && !segment.nodes[n].child;
        segment.nodes[n].parent = segment.nodes[n].pc = n;
    }
    for (uint32_t i = 0; i < N; i++)
        kept &= segment.nodes[first + i].parent == first + i;
    ok(rising, "entries are handed out one after the other");
    ok(zero, "zeroed");
    ok(kept, "and are memory of their own");
    uint64_t charged = memory_own() - own, needed = N * sizeof(struct segment_node);
    ok(charged >= needed - 65536 && charged <= needed + needed / 4 + (1 << 20), "%lu bytes are charged for %lu",
       (unsigned long)charged, (unsigned long)needed);
    ok(segment.committed[SEGMENT_NODES] >= extent(SEGMENT_NODES)->used, "all have memory");
}

static void test_strings(void) {
    uint32_t a = segment_store_string("first", 5), b = segment_store_string("second\0x", 8);
    is_text(segment.strings + a, "first", "a string");
    ok(memcmp(segment.strings + b, "second\0x\0", 9) == 0, "any bytes, with a zero behind them");
    ok(b == a + 6, "without gaps");
    is(segment_store_string("", 0), 0, "nothing to store is offset 0");
    static char long_one[70000];
    memset(long_one, 'x', sizeof long_one);
    uint32_t c = segment_store_string(long_one, sizeof long_one);
    ok(c && segment.strings[c + sizeof long_one - 1] == 'x' && !segment.strings[c + sizeof long_one],
       "one of many pages");
    is(segment_store_string(long_one, 1u << 20), 0, "not one of a megabyte");
}

static void test_full(void) {
    uint64_t capacity = extent(SEGMENT_MODULES)->capacity, taken = extent(SEGMENT_MODULES)->used;
    uint32_t index = 1, last = 0;
    while ((index = segment_take(SEGMENT_MODULES, 1)) && taken < capacity + 10) {
        segment.modules[index].path = index;
        last = index;
        taken++;
    }
    ok(taken == capacity && last == capacity - 1, "a region can be filled to its last entry");
    is(segment_take(SEGMENT_MODULES, 1), 0, "and then there is no more");
    is(extent(SEGMENT_MODULES)->used, capacity, "its mark stays");
    uint64_t left = extent(SEGMENT_STRINGS)->capacity - extent(SEGMENT_STRINGS)->used;
    while (left > 1000000)
        left -= segment_take(SEGMENT_STRINGS, 1000000) ? 1000000 : 0;
    is(segment_take(SEGMENT_STRINGS, (uint32_t)left + 1), 0, "several at once that don't fit");
    ok(segment_take(SEGMENT_STRINGS, (uint32_t)left), "and that just fit");
    is(segment_store_string("x", 1), 0, "no more strings");
}

static void test_limits(void) {
    uint64_t own = memory_own(), used = extent(SEGMENT_BUCKETS)->used;
    memory_limit = own;
    uint32_t refused = 0;
    for (int i = 0; i < 100000 && !refused; i++)
        refused = !segment_take(SEGMENT_BUCKETS, 1);
    ok(refused, "at the limit of memory entries run out");
    ok(memory_own() == own, "and nothing is charged");
    memory_limit = own + 4 * MEMORY_PAGE;
    uint64_t stopped = extent(SEGMENT_BUCKETS)->used;
    segment_take(SEGMENT_BUCKETS, 1);
    ok(memory_own() <= memory_limit, "the limit is never passed");
    memory_limit = UINT64_MAX;
    ok(segment_take(SEGMENT_BUCKETS, 1) >= stopped && stopped > used, "without it they go on where they were");
    while (extent(SEGMENT_BUCKETS)->used < segment.committed[SEGMENT_BUCKETS])
        segment_take(SEGMENT_BUCKETS, 1);
    own = memory_own();
    test_fail_syscall(SYS_mprotect, ENOMEM, 0, TEST_ALWAYS);
    is(segment_take(SEGMENT_BUCKETS, 1), 0, "the kernel has no memory");
    is(memory_own(), own, "and nothing is charged for it");
    test_fail_syscall(0, 0, 0, 0);
    ok(segment_take(SEGMENT_BUCKETS, 1), "then it has again");
}

static void test_counts(void) {
    uint64_t own = memory_own();
    struct segment_count *c = segment_count_at(3, 100);
    ok(c && !c->allocs && !c->frees, "counters that nobody touched are 0");
    ok(memory_own() - own < 1 << 20, "one shard's are opened, and few");
    c->allocs = 5;
    ok(segment_count_at(3, 100) == c && segment_count_at(4, 100) != c && segment_count_at(3, 101) == c + 1,
       "each in its place");
    ok(segment_count_at(SEGMENT_SHARDS - 1, 50000) != NULL, "in the last shard, many buckets on");
    ok(segment.header->shard_buckets[3] > 100 && segment.header->shard_buckets[SEGMENT_SHARDS - 1] > 50000,
       "readers are told how far");
    is(segment.header->shard_buckets[5], 0, "and of shards without any");
    memory_limit = memory_own();
    ok(!segment_open_counts(6, 1000, 0), "at the limit of memory there are none");
    ok(segment_count_at(6, 1000) != NULL, "but for what has to be counted");
    memory_limit = UINT64_MAX;
    uint32_t last = (uint32_t)extent(SEGMENT_BUCKETS)->capacity - 1;
    struct segment_count *end = segment_count_at(SEGMENT_SHARDS - 1, last);
    ok(end && (char *)(end + 1) <= (char *)segment.header + segment.header->size,
       "the last counter of all lies within");
    end->frees = 1;
}

/* Address space is short: the large regions shrink. */
static void test_halving(void) {
    uint64_t size = segment.header->size, pcs = extent(SEGMENT_PCS)->capacity,
             modules = extent(SEGMENT_MODULES)->capacity;
    segment = (struct segment){0};
    test_fail_syscall(SYS_mmap, ENOMEM, 0, 3);
    is(segment_create(&nobody, UINT64_MAX), 0, "a smaller segment where there is no room for the usual one");
    test_fail_syscall(0, 0, 0, 0);
    ok(segment.header->size < size / 4 && extent(SEGMENT_PCS)->capacity == pcs >> 3, "by as many halvings as it takes");
    ok(extent(SEGMENT_MODULES)->capacity == modules >> 3, "modules too");
    segment = (struct segment){0};
    test_fail_syscall(SYS_mkdir, EPERM, 0, TEST_ALWAYS);
    is(segment_create(&nobody, 1), 0, "and one for hardly any room at all");
    ok(segment.header->size <= 5 << 20 && extent(SEGMENT_MODULES)->capacity >= 2048 &&
           extent(SEGMENT_STRINGS)->capacity >= 512 << 10,
       "is small, but keeps what any program needs");
    segment_discard();
    ok(!segment.header, "and can be given back");
    segment = (struct segment){0};
    test_fail_syscall(0, 0, 0, 0);
    is(segment_create(&nobody, UINT64_MAX), 0, "for one of the usual size");
}

enum { THREADS = 8, EACH = 20000 };
static uint8_t *owner;
static uint32_t twice[THREADS], none[THREADS];

static void take(unsigned number) {
    for (int i = 0; i < EACH; i++) {
        uint32_t n = segment_take(SEGMENT_NODES, 1);
        none[number] += !n;
        segment.nodes[n].pc = number;
        twice[number] += __atomic_exchange_n(&owner[n], 1, __ATOMIC_RELAXED) != 0;
        if (i % 8 == 0) {
            char text[8] = {'t', (char)('a' + number), 0};
            uint32_t at = segment_store_string(text, 2);
            twice[number] += at && strcmp(segment.strings + at, text) != 0;
        }
        struct segment_count *c = segment_count_at(number % SEGMENT_SHARDS, n / 16);
        add_owned(&c->allocs, 1);
        struct segment_count *shared = segment_count_at(SEGMENT_OWNED_SHARDS, n / 16);
        add_relaxed(&shared->allocs, 1u);
    }
}

static void test_threads_take(void) {
    uint64_t used = extent(SEGMENT_NODES)->used, sum = 0, sum_shared = 0;
    uint32_t wrong = 0, failed = 0;
    owner = calloc(extent(SEGMENT_NODES)->capacity, 1);
    test_threads(THREADS, take);
    for (int i = 0; i < THREADS; i++) {
        wrong += twice[i];
        failed += none[i];
    }
    is(wrong, 0, "threads at once: no entry is handed out twice");
    is(failed, 0, "and each request is met");
    is(extent(SEGMENT_NODES)->used - used, THREADS * EACH, "the mark tells how many");
    for (uint32_t s = 0; s < SEGMENT_SHARDS; s++)
        for (uint32_t b = 0; b < segment.header->shard_buckets[s]; b++)
            *(s == SEGMENT_OWNED_SHARDS ? &sum_shared : &sum) += segment_count_at(s, b)->allocs;
    is(sum, THREADS * EACH, "counters of threads' own shards lose nothing");
    is(sum_shared, THREADS * EACH, "nor do those that are shared");
    free(owner);
}

int main(void) {
    test_no_segment();
    test_segment();
    test_new();
    test_taking();
    test_strings();
    test_full();
    test_limits();
    test_counts();
    test_halving();
    test_threads_take();
    return tap_done();
}
