/* SPDX-License-Identifier: Apache-2.0 */
/* Segments made up for tests, and what the encoder needs around it. */
#ifndef CPROF_TESTS_UNIT_PROTO_SEGMENT_H
#define CPROF_TESTS_UNIT_PROTO_SEGMENT_H

#include "proto/encode.h"
#include "proto/segment.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A segment in private memory with room for as many entries as asked for, never running out in the test's hands. */
struct made {
    struct segment_header *header;
    size_t size;
};

struct made_room {
    uint32_t modules, strings, pcs, nodes, buckets, threads;
};

/* Room for a few of everything. */
#define MADE_SMALL ((struct made_room){16, 65536, 256, 1024, 1024, 8})

/* Makes one with its reserved entries, module 1 "/bin/prog" at 0x400000 to 0x500000 with a build id of ab cd, state
 * live, rate as given, started at 1000 s (wall) and 50 s (monotonic). Exits if there is no memory. */
struct made made_new(struct made_room room, uint64_t rate);
void made_free(struct made *made);

uint32_t made_string(struct made *made, const char *text, size_t len);
uint32_t made_module(struct made *made, const char *path, uint64_t start, uint64_t limit);
uint32_t made_pc(struct made *made, uint64_t address, uint32_t module);
uint32_t made_node(struct made *made, uint32_t parent, uint32_t pc);
uint32_t made_bucket(struct made *made, uint32_t node, uint64_t size);
/* Adds to a bucket's counts in one shard. */
void made_count(struct made *made, unsigned shard, uint32_t bucket, uint64_t allocs, uint64_t frees);

struct segment_module *made_modules(struct made *made);
struct segment_pc *made_pcs(struct made *made);
struct segment_node *made_nodes(struct made *made);
struct segment_bucket *made_buckets(struct made *made);
struct segment_thread *made_threads(struct made *made);
uint64_t *made_peaks(struct made *made);

/* Memory that counts what is out, and can be told to fail. */
struct test_memory {
    size_t blocks;    /* not freed yet */
    size_t bytes;     /* asked for in all */
    size_t calls;     /* so far */
    size_t fail_call; /* this one, from 1, returns NULL; 0: none */
};

/* A sink into memory. */
struct test_sink {
    unsigned char *bytes;
    size_t len;
    size_t capacity;
    size_t calls;
    size_t fail_call; /* this one, from 1, returns -ENOSPC; 0: none */
};
void test_sink_free(struct test_sink *sink);

/* profile_encode() with these. */
int test_encode(const struct segment_view *view, const struct encode_options *options, struct test_memory *memory,
                struct test_sink *sink);

#endif
