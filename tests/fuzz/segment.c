/* SPDX-License-Identifier: Apache-2.0 */
/* A fuzz target (libFuzzer): a small segment, sound but for the changes that the input makes to it, is read by all that
 * read segments. Whatever the segment says, they stay within it, and a profile that comes out is valid.
 *
 * Input: changes of 12 bytes each: an offset (3), the number of bytes less one (1), the bytes (8). */
#include "tests/unit/proto_segment.h"
#include "tools/live.h"
#include "tools/segment_totals.h"

#include "proto/check.h"
#include "proto/encode.h"
#include "proto/reader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHANGE 12u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static struct made base;

static void make_base(void) {
    base = made_new((struct made_room){4, 4096, 32, 64, 64, 4}, 512);
    uint32_t module = made_module(&base, "/lib/libx.so", 0x7f0000000000, 0x7f0000100000), node = 0;
    for (uint32_t i = 0; i < 20; i++) {
        uint32_t pc = made_pc(&base, i % 2 ? 0x400100 + i : 0x7f0000000010 + i, i % 2 ? 1 : module);
        node = made_node(&base, i % 5 ? node : 0, pc);
        uint32_t bucket = made_bucket(&base, node, 16u << i % 12);
        made_count(&base, i % SEGMENT_SHARDS, bucket, 3 + i, i);
    }
}

/* A main binary whose path says that it is no file is what the segment says, and the encoder keeps to that. */
static void print_fault(void *ctx, const char *where, const char *what) {
    if (strncmp(what, "the first mapping is not the main binary", 40) == 0)
        return;
    ++*(unsigned *)ctx;
    fprintf(stderr, "not valid: %s: %s\n", where, what);
}

static void check_profile(const struct test_sink *sink) {
    struct prof_error error;
    ProfProfile *profile = profile_read_bytes(sink->bytes, sink->len, 0, &error);
    if (!profile) {
        fprintf(stderr, "can't be read: %s\n", error.text);
        abort();
    }
    unsigned faults = 0;
    profile_check(profile, print_fault, &faults);
    if (faults > 0)
        abort();
    profile_free(profile);
}

static void encode(const struct segment_view *view, bool peak) {
    struct test_memory memory = {0};
    struct test_sink sink = {0};
    struct encode_options options = {.now_mono_ns = UINT64_C(60000000000), .peak = peak};
    if (test_encode(view, &options, &memory, &sink) == 0)
        check_profile(&sink);
    if (memory.blocks != 0)
        abort();
    test_sink_free(&sink);
}

static void look(const struct segment_view *view) {
    struct segment_file file = {.fd = -1, .view = *view};
    struct segment_totals totals;
    const struct live_row *const *rows;
    struct live *live = live_new(false);
    if (segment_sum(&file, &totals) != 0 || !live)
        abort();
    for (int again = 0; again < 2; again++)
        if (live_read(live, &file) == 0)
            for (unsigned type = 0; type < LIVE_TYPES; type++)
                live_rows(live, (enum live_type)type, again, &rows);
    live_free(live);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len) {
    struct segment_view view;
    if (!base.header)
        make_base();
    /* In memory of its own, so that a step beyond its end is seen. */
    unsigned char *segment = aligned_alloc(64, (base.size + 63) & ~(size_t)63);
    if (!segment)
        abort();
    memcpy(segment, base.header, base.size);
    for (; len >= CHANGE; data += CHANGE, len -= CHANGE) {
        size_t offset = (data[0] | (size_t)data[1] << 8 | (size_t)data[2] << 16) % base.size, n = data[3] % 8u + 1;
        memcpy(segment + offset, data + 4, n < base.size - offset ? n : base.size - offset);
    }
    if (segment_view_open(&view, segment, base.size) == 0) {
        encode(&view, false);
        encode(&view, true);
        look(&view);
    }
    free(segment);
    return 0;
}
