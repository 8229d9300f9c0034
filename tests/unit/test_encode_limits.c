/* SPDX-License-Identifier: Apache-2.0 */
/* The encoder when something is against it: no memory, no room for the file, a segment that lies, a large one. */
#include "tests/unit/proto_segment.h"
#include "tests/unit/tap.h"

#include "proto/check.h"
#include "proto/encode.h"
#include "proto/reader.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

static const struct encode_options options = {.now_mono_ns = 53000000000};

static uint64_t random_state = 42;
static uint64_t random64(void) {
    uint64_t z = (random_state += 0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
}

static void no_report(void *ctx, const char *where, const char *what) {
    (void)ctx;
    (void)where;
    (void)what;
}

/* Stacks of `depth` frames that part from the one before at a random frame, each with a bucket or more. */
static struct made made_tree(uint32_t stacks, uint32_t depth, uint32_t buckets) {
    uint32_t pcs = 20000;
    struct made made =
        made_new((struct made_room){64, 65536, pcs + 8, stacks * depth + 8, stacks * buckets + 8, 8}, 524288);
    uint32_t *path = calloc(depth, sizeof *path);
    uint32_t lib = made_module(&made, "/usr/lib/libc.so.6", 0x7f0000000000, 0x7f0010000000);
    for (uint32_t i = 0; i < pcs; i++)
        made_pc(&made, 0x7f0000000000 + random64() % 0x10000000, lib);
    for (uint32_t i = 0; i < stacks; i++) {
        for (uint32_t d = i == 0 ? 0 : (uint32_t)(random64() % depth); d < depth; d++)
            path[d] = made_node(&made, d == 0 ? 0 : path[d - 1], SEGMENT_PC_FIRST + (uint32_t)(random64() % pcs));
        for (uint32_t b = 0; b < buckets; b++)
            made_count(&made, (unsigned)(random64() % 3), made_bucket(&made, path[depth - 1], 16 + random64() % 5000),
                       2, random64() % 3);
    }
    free(path);
    return made;
}

/* Lets the n-th request of one kind fail, for each n: the error is `error` each time, no request of the kind follows,
 * and everything is given back. Returns how many requests there are if nothing fails; 0 if it was not so. */
static size_t each_failing(const struct made *made, size_t *fail_call, const size_t *calls, struct test_memory *memory,
                           struct test_sink *sink, int error) {
    struct segment_view view;
    segment_view_open(&view, made->header, made->size);
    is(test_encode(&view, &options, memory, sink), 0, "when nothing fails");
    size_t count = *calls;
    for (size_t n = 1; n <= count; n++) {
        memory->calls = sink->calls = sink->len = 0;
        *fail_call = n;
        if (test_encode(&view, &options, memory, sink) != error || (sink->fail_call && sink->calls != n) ||
            memory->blocks != 0)
            return 0;
    }
    return count;
}

static void test_no_memory(void) {
    struct made made = made_tree(300, 20, 2);
    struct test_memory memory = {0};
    struct test_sink sink = {0};
    size_t calls = each_failing(&made, &memory.fail_call, &memory.calls, &memory, &sink, -ENOMEM);
    ok(calls > 2, "whichever of its %zu requests fails: -ENOMEM, and all given back", calls);
    test_sink_free(&sink);
    made_free(&made);
}

static void test_no_room(void) {
    struct made made = made_tree(20000, 20, 1);
    struct test_memory memory = {0};
    struct test_sink sink = {0};
    size_t calls = each_failing(&made, &sink.fail_call, &sink.calls, &memory, &sink, -ENOSPC);
    ok(calls > 2, "whichever of its %zu writes fails: that error, and no write after it", calls);
    test_sink_free(&sink);
    made_free(&made);
}

/* Any bytes changed in any way: the segment is refused, or the profile is a valid one. The copy has exactly its size,
 * so that a sanitizer sees every byte beyond. */
static void test_hostile(void) {
    struct made made = made_tree(40, 6, 3);
    unsigned char *copy = NULL;
    if (posix_memalign((void **)&copy, 64, made.size) != 0)
        exit(1);
    unsigned opened = 0;
    unsigned invalid = 0;
    unsigned leaked = 0;
    for (int round = 0; round < 3000; round++) {
        memcpy(copy, made.header, made.size);
        struct segment_header *header = (struct segment_header *)copy;
        for (uint64_t n = 1 + random64() % 30; n > 0; n--) {
            /* Half of them in the header behind the magic, the rest among the entries in use. */
            unsigned r = (unsigned)(random64() % SEGMENT_REGIONS);
            const struct segment_extent *extent = &made.header->region[r];
            size_t at = round % 2 == 0 && n == 1
                            ? 24 + random64() % (sizeof *header - 24)
                            : extent->offset + random64() % ((extent->used + 2) * extent->entry_size);
            copy[at] = (unsigned char)(random64() % 4 == 0 ? 0xff : random64());
        }
        struct segment_view view;
        if (segment_view_open(&view, copy, made.size) != 0)
            continue;
        opened++;
        struct test_memory memory = {0};
        struct test_sink sink = {0};
        struct encode_options any = {.now_mono_ns = random64(), .peak = random64() % 2};
        struct prof_error error;
        int rc = test_encode(&view, &any, &memory, &sink);
        ProfProfile *profile = rc == 0 ? profile_read_bytes(sink.bytes, sink.len, 0, &error) : NULL;
        if (rc != -EAGAIN && (!profile || profile_check(profile, no_report, NULL) != 0))
            invalid++;
        leaked += memory.blocks > 0;
        profile_free(profile);
        test_sink_free(&sink);
    }
    ok(opened > 1000, "of 3000 damaged segments %u open", opened);
    is(invalid, 0, "and give valid profiles");
    is(leaked, 0, "with no memory lost");
    free(copy);
    made_free(&made);
}

/* Two nodes that claim one list, and a chain as deep as nodes go. */
static void test_shapes(void) {
    struct made made = made_new((struct made_room){4, 4096, 64, 100000, 1000, 4}, 1);
    uint32_t pc = made_pc(&made, 0x400100, 1);
    uint32_t node = 0;
    for (int i = 0; i < 50000; i++)
        node = made_node(&made, node, pc);
    uint32_t bucket = 0;
    for (int i = 0; i < 500; i++)
        made_count(&made, 0, bucket = made_bucket(&made, node, 100), 1, 0);
    for (uint32_t i = 1; i < node; i++)
        made_nodes(&made)[i].bucket = bucket;
    struct segment_view view;
    segment_view_open(&view, made.header, made.size);
    struct test_memory memory = {0};
    struct test_sink sink = {0};
    struct prof_error error;
    is(test_encode(&view, &options, &memory, &sink), 0, "a list that many nodes claim, an endless stack");
    ProfProfile *profile = profile_read_bytes(sink.bytes, sink.len, 0, &error);
    ok(profile && profile->n_sample == 1 && profile->sample[0]->value[0] == 500, "each bucket counts once");
    size_t depth = profile ? profile->sample[0]->n_location_id : 0;
    const ProfLocation *root = depth > 0 ? profile->location[profile->sample[0]->location_id[depth - 1] - 1] : NULL;
    ok(depth < 5000 && root && root->n_line == 1 &&
           profile_text_is(profile, profile->function[root->line[0]->function_id - 1]->name, SEGMENT_NAME_TRUNCATED),
       "and the stack is cut at %zu frames, visibly", depth);
    profile_free(profile);
    test_sink_free(&sink);
    made_free(&made);
}

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void test_large(uint32_t stacks, uint32_t depth, uint32_t buckets) {
    struct made made = made_tree(stacks, depth, buckets);
    struct segment_view view;
    segment_view_open(&view, made.header, made.size);
    struct test_memory memory = {0};
    struct test_sink sink = {0};
    double start = seconds();
    int rc = test_encode(&view, &options, &memory, &sink);
    double took = seconds() - start;
    printf("# %u stacks of %u frames, %u buckets: %.3f s, %zu bytes, %zu of memory\n", stacks, depth, stacks * buckets,
           took, sink.len, memory.bytes);
    ok(rc == 0 && memory.bytes < 2u << 20, "%u stacks of %u frames, %u buckets: within 2 MiB", stacks, depth,
       stacks * buckets);
    test_sink_free(&sink);
    made_free(&made);
}

int main(void) {
    test_no_memory();
    test_no_room();
    test_hostile();
    test_shapes();
    test_large(100000, 30, 1);
    test_large(100000, 20, 10);
    return tap_done();
}
