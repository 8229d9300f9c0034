/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/proto_segment.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static void *region(struct made *made, enum segment_region r) {
    return (char *)made->header + made->header->region[r].offset;
}

struct segment_module *made_modules(struct made *made) {
    return region(made, SEGMENT_MODULES);
}

struct segment_pc *made_pcs(struct made *made) {
    return region(made, SEGMENT_PCS);
}

struct segment_node *made_nodes(struct made *made) {
    return region(made, SEGMENT_NODES);
}

struct segment_bucket *made_buckets(struct made *made) {
    return region(made, SEGMENT_BUCKETS);
}

struct segment_thread *made_threads(struct made *made) {
    return region(made, SEGMENT_THREADS);
}

uint64_t *made_peaks(struct made *made) {
    return region(made, SEGMENT_PEAK);
}

static uint32_t take(struct made *made, enum segment_region r, uint32_t n) {
    struct segment_extent *extent = &made->header->region[r];
    if (extent->used + n > extent->capacity) {
        printf("Bail out! a made-up segment is too small\n");
        exit(1);
    }
    extent->used += n;
    return (uint32_t)(extent->used - n);
}

static void lay_out(struct made *made, struct made_room room, struct segment_extent extents[SEGMENT_REGIONS]) {
    const uint64_t shape[SEGMENT_REGIONS][2] = {
        [SEGMENT_MODULES] = {sizeof(struct segment_module), room.modules},
        [SEGMENT_STRINGS] = {1, room.strings},
        [SEGMENT_PCS] = {sizeof(struct segment_pc), room.pcs},
        [SEGMENT_NODES] = {sizeof(struct segment_node), room.nodes},
        [SEGMENT_BUCKETS] = {sizeof(struct segment_bucket), room.buckets},
        [SEGMENT_COUNTS] = {sizeof(struct segment_count), (uint64_t)room.buckets * SEGMENT_SHARDS},
        [SEGMENT_PEAK] = {sizeof(uint64_t), room.buckets},
        [SEGMENT_THREADS] = {sizeof(struct segment_thread), room.threads},
    };
    made->size = SEGMENT_PAGE;
    for (int r = 0; r < SEGMENT_REGIONS; r++) {
        extents[r] = (struct segment_extent){
            .offset = made->size, .entry_size = shape[r][0], .capacity = shape[r][1], .used = 1};
        made->size += (shape[r][0] * shape[r][1] + SEGMENT_PAGE - 1) / SEGMENT_PAGE * SEGMENT_PAGE;
    }
    extents[SEGMENT_COUNTS].used = 0;
    extents[SEGMENT_PEAK].used = 0;
    extents[SEGMENT_PCS].used = SEGMENT_PC_FIRST;
    extents[SEGMENT_BUCKETS].used = SEGMENT_BUCKET_FIRST;
}

struct made made_new(struct made_room room, uint64_t rate) {
    struct made made;
    struct segment_extent extents[SEGMENT_REGIONS];
    lay_out(&made, room, extents);
    void *at = mmap(NULL, made.size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED) {
        printf("Bail out! no memory for a made-up segment\n");
        exit(1);
    }
    made.header = at;
    *made.header = (struct segment_header){
        .magic = SEGMENT_MAGIC,
        .version = SEGMENT_VERSION,
        .header_size = sizeof *made.header,
        .size = made.size,
        .state = SEGMENT_LIVE,
        .pid = 42,
        .start_wall_ns = 1000000000000,
        .start_mono_ns = 50000000000,
        .name = "prog",
        .rate = rate,
        .depth = 128,
    };
    memcpy(made.header->region, extents, sizeof extents);
    uint32_t module = made_module(&made, "/bin/prog", 0x400000, 0x500000);
    made_modules(&made)[module].build_id = made_string(&made, "\xab\xcd", 2);
    made_modules(&made)[module].build_id_len = 2;
    return made;
}

void made_free(struct made *made) {
    munmap(made->header, made->size);
}

uint32_t made_string(struct made *made, const char *text, size_t len) {
    uint32_t at = take(made, SEGMENT_STRINGS, (uint32_t)len + 1);
    memcpy((char *)region(made, SEGMENT_STRINGS) + at, text, len);
    return at;
}

uint32_t made_module(struct made *made, const char *path, uint64_t start, uint64_t limit) {
    uint32_t at = take(made, SEGMENT_MODULES, 1);
    made_modules(made)[at] = (struct segment_module){
        .start = start,
        .limit = limit,
        .file_offset = 0x1000,
        .path = made_string(made, path, strlen(path)),
        .path_len = (uint32_t)strlen(path),
        .ready = 1,
    };
    return at;
}

uint32_t made_pc(struct made *made, uint64_t address, uint32_t module) {
    uint32_t at = take(made, SEGMENT_PCS, 1);
    made_pcs(made)[at] = (struct segment_pc){.address = address, .module = module};
    return at;
}

uint32_t made_node(struct made *made, uint32_t parent, uint32_t pc) {
    uint32_t at = take(made, SEGMENT_NODES, 1);
    made_nodes(made)[at] = (struct segment_node){.parent = parent, .pc = pc};
    return at;
}

uint32_t made_bucket(struct made *made, uint32_t node, uint64_t size) {
    uint32_t at = take(made, SEGMENT_BUCKETS, 1);
    made_buckets(made)[at] = (struct segment_bucket){.node = node, .next = made_nodes(made)[node].bucket, .size = size};
    made_nodes(made)[node].bucket = at;
    return at;
}

void made_count(struct made *made, unsigned shard, uint32_t bucket, uint64_t allocs, uint64_t frees) {
    struct segment_count *counts = region(made, SEGMENT_COUNTS);
    struct segment_count *count = &counts[shard * made->header->region[SEGMENT_BUCKETS].capacity + bucket];
    count->allocs += allocs;
    count->frees += frees;
    if (made->header->shard_buckets[shard] <= bucket)
        made->header->shard_buckets[shard] = bucket + 1;
}

static void *test_alloc(void *ctx, size_t size) {
    struct test_memory *memory = ctx;
    if (++memory->calls == memory->fail_call)
        return NULL;
    memory->blocks++;
    memory->bytes += size;
    void *block = malloc(size);
    if (block)
        memset(block, 0xa5, size);
    return block;
}

static void test_free(void *ctx, void *block) {
    struct test_memory *memory = ctx;
    memory->blocks--;
    free(block);
}

static int test_write(void *ctx, const void *bytes, size_t len) {
    struct test_sink *sink = ctx;
    if (++sink->calls == sink->fail_call)
        return -ENOSPC;
    if (len > sink->capacity - sink->len) {
        sink->capacity = 2 * (sink->len + len);
        sink->bytes = realloc(sink->bytes, sink->capacity);
    }
    memcpy(sink->bytes + sink->len, bytes, len);
    sink->len += len;
    return 0;
}

int test_encode(const struct segment_view *view, const struct encode_options *options, struct test_memory *memory,
                struct test_sink *sink) {
    struct prof_memory memory_port = {.alloc = test_alloc, .free = test_free, .ctx = memory};
    struct prof_sink sink_port = {.write = test_write, .ctx = sink};
    return profile_encode(view, options, &memory_port, &sink_port);
}

void test_sink_free(struct test_sink *sink) {
    free(sink->bytes);
    *sink = (struct test_sink){0};
}
