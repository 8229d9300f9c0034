/* SPDX-License-Identifier: Apache-2.0 */
/* Encoding a segment while other threads write to it, as happens when a profile is asked for in a running program.
 * Meant for the thread sanitizer as well. */
#include "tests/unit/proto_segment.h"
#include "tests/unit/tap.h"

#include "proto/check.h"
#include "proto/encode.h"
#include "proto/reader.h"

#include <pthread.h>
#include <stdlib.h>

enum { STACKS = 20000, DEPTH = 8, WRITERS = 2 };

static struct made made;
static bool stop;

static void print_fault(void *ctx, const char *where, const char *what) {
    (void)ctx;
    printf("# %s: %s\n", where, what);
}

static uint32_t take(enum segment_region r) {
    return (uint32_t)__atomic_fetch_add(&made.header->region[r].used, 1, __ATOMIC_ACQ_REL);
}

#define store(field, value) __atomic_store_n(&(field), value, __ATOMIC_RELAXED)
#define publish(field, value) __atomic_store_n(&(field), value, __ATOMIC_RELEASE)

static uint32_t new_bucket(uint32_t *path, uint64_t n) {
    for (uint32_t d = n % DEPTH; d < DEPTH; d++) {
        uint32_t pc = take(SEGMENT_PCS);
        store(made_pcs(&made)[pc].address, 0x400000 + n % 0x100000);
        store(made_pcs(&made)[pc].module, 1);
        uint32_t node = take(SEGMENT_NODES);
        store(made_nodes(&made)[node].parent, d == 0 ? 0 : path[d - 1]);
        store(made_nodes(&made)[node].pc, pc);
        path[d] = node;
    }
    uint32_t leaf = path[DEPTH - 1];
    uint32_t bucket = take(SEGMENT_BUCKETS);
    store(made_buckets(&made)[bucket].node, leaf);
    store(made_buckets(&made)[bucket].next, made_nodes(&made)[leaf].bucket);
    store(made_buckets(&made)[bucket].size, 16 + n % 5000);
    publish(made_nodes(&made)[leaf].bucket, bucket);
    return bucket;
}

static struct segment_count *count_at(unsigned shard, uint32_t bucket) {
    uint64_t capacity = made.header->region[SEGMENT_BUCKETS].capacity;
    struct segment_count *counts =
        (struct segment_count *)((char *)made.header + made.header->region[SEGMENT_COUNTS].offset);
    return &counts[shard * capacity + bucket];
}

/* Allocates in one shard and frees in another. */
static void *writer(void *arg) {
    unsigned self = (unsigned)(uintptr_t)arg;
    uint32_t path[DEPTH] = {0};
    for (uint64_t n = 0; n < STACKS; n++) {
        uint32_t bucket = new_bucket(path, n < DEPTH ? 0 : n);
        __atomic_fetch_add(&count_at(2 * self, bucket)->allocs, 1 + n % 7, __ATOMIC_RELEASE);
        if (n % 3 == 0)
            __atomic_fetch_add(&count_at(2 * self + 1, bucket)->frees, 1 + n % 7, __ATOMIC_RELEASE);
        store(made_threads(&made)[self + 1].calls, n);
    }
    __atomic_store_n(&stop, true, __ATOMIC_RELEASE);
    return NULL;
}

static bool encode_once(void) {
    struct segment_view view;
    struct test_memory memory = {0};
    struct test_sink sink = {0};
    struct encode_options options = {.now_mono_ns = 53000000000};
    struct prof_error error;
    bool good =
        segment_view_open(&view, made.header, made.size) == 0 && test_encode(&view, &options, &memory, &sink) == 0;
    ProfProfile *profile = good ? profile_read_bytes(sink.bytes, sink.len, 0, &error) : NULL;
    good = profile && profile_check(profile, print_fault, NULL) == 0;
    /* Whatever was in the view is whole: no frame is missing, and the address of each is known. */
    for (size_t i = 0; good && i < profile->n_sample; i++)
        good = profile->sample[i]->n_location_id == DEPTH;
    for (size_t i = 0; good && i < profile->n_location; i++)
        good = profile->location[i]->mapping_id == 1;
    profile_free(profile);
    test_sink_free(&sink);
    return good;
}

int main(void) {
    pthread_t threads[WRITERS];
    uint32_t room = WRITERS * STACKS * DEPTH + 8;
    made = made_new((struct made_room){4, 4096, room, room, WRITERS * STACKS + 8, WRITERS + 2}, 1);
    made.header->region[SEGMENT_THREADS].used = WRITERS + 1;
    for (unsigned s = 0; s < 2 * WRITERS; s++)
        made.header->shard_buckets[s] = WRITERS * STACKS + 8;
    for (unsigned i = 0; i < WRITERS; i++)
        if (pthread_create(&threads[i], NULL, writer, (void *)(uintptr_t)i) != 0)
            return 1;
    unsigned profiles = 0;
    bool good = true;
    while (good && !__atomic_load_n(&stop, __ATOMIC_ACQUIRE)) {
        good = encode_once();
        profiles++;
    }
    for (unsigned i = 0; i < WRITERS; i++)
        pthread_join(threads[i], NULL);
    ok(good, "%u profiles of a segment that two threads write to are valid and whole", profiles);
    ok(encode_once(), "so is the last");
    made_free(&made);
    return tap_done();
}
