/* SPDX-License-Identifier: Apache-2.0 */
/* Recording as a whole, as the hooks call it: totals are exact, blocks are found again, and a child starts from what it
 * inherited; with threads that allocate for each other. */
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/wait.h>
#include <unistd.h>

#include "preload/record/modules.h"
#include "preload/record/output.h"
#include "preload/record/process.h"
#include "preload/record/record.h"
#include "preload/record/segment.h"
#include "preload/record/stack.h"
#include "tests/unit/record_helpers.h"
#include "tests/unit/tap.h"

/* The hooks' fast path (intercept/hooks.c). */
static __attribute__((noinline)) void allocated(uintptr_t p, size_t size) {
    struct thread *t = thread_self;
    uintptr_t *frame = __builtin_frame_address(0);
    add_owned(&t->calls, 1);
    add_owned((uint64_t *)&t->countdown, (uint64_t)0 - size);
    if (load_relaxed(&t->countdown) < 0)
        record_block((void *)p, size,
                     &(struct registers){
                         .ip = (uintptr_t)__builtin_return_address(0) - 1, .sp = (uintptr_t)(frame + 2), .bp = *frame});
}

static void freed(uintptr_t p) {
    if (load_relaxed(shadow_filter_at(p)))
        record_free((void *)p);
}

struct sums {
    uint64_t allocs, frees, bytes, buckets;
};

static struct sums sums(void) {
    struct sums s = {0};
    const struct segment_header *h = segment.header;
    for (uint32_t b = SEGMENT_BUCKET_FIRST; b < h->region[SEGMENT_BUCKETS].used; b++) {
        uint64_t allocs = 0;
        for (uint32_t shard = 0; shard < SEGMENT_SHARDS; shard++)
            if (b < h->shard_buckets[shard]) {
                allocs += segment_count_at(shard, b)->allocs;
                s.frees += segment_count_at(shard, b)->frees;
            }
        s.allocs += allocs;
        s.bytes += allocs * segment.buckets[b].size;
        s.buckets++;
    }
    return s;
}

#define BASE 0x200000000000ul
static uintptr_t address(uint64_t i) {
    return BASE + i * 64;
}

static void test_exact(void) {
    struct record_totals totals;
    for (uint64_t i = 0; i < 10000; i++)
        allocated(address(i), i % 100);
    struct sums s = sums();
    record_totals(&totals);
    ok(s.allocs == 10000 && s.bytes == 495000 && s.frees == 0, "each block is recorded, with its size");
    ok(totals.bytes == 495000 && totals.calls == 10000 && totals.samples == 10000, "totals agree");
    is(s.buckets, 100, "one bucket for each size at one place");
    for (uint64_t i = 0; i < 10000; i += 2)
        freed(address(i));
    is(sums().frees, 5000, "frees are counted");
    for (uint64_t i = 0; i < 10000; i++)
        freed(address(i));
    is(sums().frees, 10000, "each once");
    allocated(address(1), 77);
    allocated(address(1), 78);
    is(sums().frees, 10001, "a block over a live one counts as its free");
    uint32_t bucket = record_detach((void *)address(1));
    is(segment.buckets[bucket].size, 78, "detached for realloc");
    record_reattach((void *)address(1), bucket);
    freed(address(1));
    is(sums().frees, 10002, "and attached again");
    record_switch(0);
    allocated(address(2), 10);
    record_switch(1);
    struct sums off = sums();
    record_totals(&totals);
    ok(off.allocs == 10002 && totals.calls == 10003, "switched off: counted, not recorded");
}

enum { THREADS = 8, EACH = 20000 };

/* Each allocates, and frees what its neighbour allocated in the round before. */
static uint32_t round_now;
static void mixed(unsigned number) {
    uint64_t own = 1000000 + number * 100000ul, neighbour = 1000000 + (number + 1) % THREADS * 100000ul;
    if (round_now == 0)
        for (uint64_t i = 0; i < EACH; i++)
            allocated(address(own + i), 8 + (i & 63));
    else
        for (uint64_t i = 0; i < EACH; i++)
            freed(address(neighbour + i));
}

static void test_threads_exact(void) {
    struct record_totals before, totals;
    struct sums s = sums();
    record_totals(&before);
    round_now = 0;
    test_threads(THREADS, mixed);
    struct sums mid = sums();
    record_totals(&totals);
    is(mid.allocs - s.allocs, THREADS * EACH, "threads at once: no allocation is lost");
    is(totals.calls - before.calls, THREADS * EACH, "in the totals either");
    is(totals.bytes - before.bytes, mid.bytes - s.bytes, "nor any byte");
    round_now = 1;
    test_threads(THREADS, mixed);
    struct sums end = sums();
    is(end.frees - mid.frees, THREADS * EACH, "each free is found by a thread that did not allocate it");
    is(segment.header->dropped, 0, "nothing was dropped");
}

/* Somebody reads the totals while others allocate. */
static uint64_t went_back;
static void read_or_write(unsigned number) {
    struct record_totals last = {0}, now;
    for (uint64_t i = 0; i < 3000; i++) {
        if (number) {
            allocated(address(3000000 + number * 10000ul + i), 24);
            freed(address(3000000 + number * 10000ul + i));
        } else {
            record_totals(&now);
            went_back += now.calls < last.calls || now.samples < last.samples;
            last = now;
        }
    }
}

static void test_reader(void) {
    struct record_totals before, totals;
    record_totals(&before);
    test_threads(4, read_or_write);
    record_totals(&totals);
    is(totals.calls - before.calls, 3 * 3000, "totals that were read meanwhile are whole in the end");
    is(went_back, 0, "and never went back");
}

/* The child reports by its exit status; it has no TAP of its own. */
static int in_child(void) {
    process_forked();
    struct sums s = sums();
    struct record_totals totals;
    uint32_t inherited = segment.header->inherited_buckets;
    record_totals(&totals);
    if (inherited != segment.header->region[SEGMENT_BUCKETS].used || inherited <= SEGMENT_BUCKET_FIRST)
        return 1;
    if (s.allocs != 500 || s.frees != 0 || s.bytes != 500 * 40)
        return 2; /* what was in use at the fork, and nothing else */
    if (totals.calls || totals.bytes || totals.samples)
        return 3;
    if (segment.header->pid != (uint32_t)getpid() || segment.header->parent_pid == (uint32_t)getpid())
        return 4;
    for (uint64_t i = 0; i < 100; i++)
        allocated(address(6000000 + i), 40); /* the same size and place as some of those inherited */
    freed(address(5000000));
    s = sums();
    record_totals(&totals);
    if (s.allocs != 600 || s.frees != 1 || totals.calls != 100 || totals.bytes != 4000)
        return 5;
    for (uint32_t b = inherited; b < segment.header->region[SEGMENT_BUCKETS].used; b++)
        if (segment.buckets[b].size != 40 || segment.buckets[b].next >= b)
            return 6;
    if (segment.header->region[SEGMENT_BUCKETS].used <= inherited)
        return 7; /* new blocks have new buckets */
    for (uint64_t i = 0; i < 500; i++)
        freed(address(5000000 + i));
    s = sums();
    return s.frees == 500 ? 0 : 8;
}

static void test_fork(void) {
    for (uint64_t i = 0; i < 500; i++)
        allocated(address(5000000 + i), 40);
    struct sums before = sums();
    pid_t pid = fork();
    if (pid == 0)
        _exit(in_child());
    int status = -1;
    waitpid(pid, &status, 0);
    ok(WIFEXITED(status), "a child ends by itself");
    is(WEXITSTATUS(status), 0,
       "it starts from the blocks in use, and counts its own apart (the number tells where it failed)");
    struct sums after = sums();
    ok(after.allocs == before.allocs && after.frees == before.frees && !segment.header->inherited_buckets,
       "its parent sees nothing of it");
}

int main(void) {
    test_segment();
    stack_init((uintptr_t)getauxval(AT_EXECFN));
    modules_init(getauxval(AT_PHDR), (const char *)getauxval(AT_EXECFN));
    process_enter_header(&(struct segment_identity){.pid = (uint32_t)getpid(), .uid = getuid(), .start_ticks = 1});
    segment.header->rate = 1;
    output_init("/nowhere/%e.%p", "test");
    if (record_init(&(struct record_settings){.rate = 1, .seed = test_seed(), .granule = 32, .started = 1}) < 0)
        return 1;
    test_exact();
    test_threads_exact();
    test_reader();
    test_fork();
    return tap_done();
}
