/* SPDX-License-Identifier: Apache-2.0 */
/* What the encoder writes, read back. */
#include "tests/unit/proto_segment.h"
#include "tests/unit/tap.h"

#include "proto/check.h"
#include "proto/encode.h"
#include "proto/reader.h"

#include <fenv.h>
#include <math.h>
#include <stdlib.h>

static void print_fault(void *ctx, const char *where, const char *what) {
    (void)ctx;
    printf("# %s: %s\n", where, what);
}

/* Encodes the segment and reads the profile back, which must be valid. */
static ProfProfile *encode(struct made *made, bool peak) {
    struct segment_view view;
    struct test_memory memory = {0};
    struct test_sink sink = {0};
    struct encode_options options = {.now_mono_ns = 53000000000, .peak = peak};
    struct prof_error error;

    if (segment_view_open(&view, made->header, made->size) != 0)
        printf("# %s\n", view.reason);
    int rc = test_encode(&view, &options, &memory, &sink);
    ProfProfile *profile = rc == 0 ? profile_read_bytes(sink.bytes, sink.len, 0, &error) : NULL;
    test_sink_free(&sink);
    unsigned faults = profile ? profile_check(profile, print_fault, NULL) : 1;
    ok(rc == 0 && profile && faults == 0 && memory.blocks == 0, "encoded, valid, memory given back");
    if (!profile)
        exit(1);
    return profile;
}

static bool sample_is(const ProfSample *s, int64_t ao, int64_t as, int64_t io, int64_t is) {
    bool same = s->value[0] == ao && s->value[1] == as && s->value[2] == io && s->value[3] == is;
    if (!same)
        printf("# values %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 "\n", s->value[0], s->value[1], s->value[2],
               s->value[3]);
    return same;
}

/* The label's number or text, as a text; "" without it. */
static const char *label(const ProfProfile *p, const ProfSample *s, const char *key) {
    static char text[64];
    for (size_t i = 0; i < s->n_label; i++) {
        ProtobufCBinaryData str = profile_text(p, s->label[i]->str);
        if (!profile_text_is(p, s->label[i]->key, key))
            continue;
        if (s->label[i]->str != 0)
            snprintf(text, sizeof text, "%.*s", (int)str.len, (char *)str.data);
        else
            snprintf(text, sizeof text, "%" PRId64, s->label[i]->num);
        return text;
    }
    return "";
}

static bool comment_has(const ProfProfile *p, const char *text) {
    ProtobufCBinaryData comment = profile_text(p, p->n_comment == 1 ? p->comment[0] : 0);
    bool has = memmem(comment.data, comment.len, text, strlen(text)) != NULL;
    if (!has)
        printf("# %.*s\n", (int)comment.len, (char *)comment.data);
    return has;
}

static void test_head(void) {
    struct made made = made_new(MADE_SMALL, 524288);
    made.header->drop_frames = made_string(&made, "my_malloc", 9);
    ProfProfile *p = encode(&made, false);
    static const char *const types[4][2] = {
        {"alloc_objects", "count"}, {"alloc_space", "bytes"}, {"inuse_objects", "count"}, {"inuse_space", "bytes"}};
    bool good = p->n_sample_type == 4;
    for (size_t i = 0; good && i < 4; i++)
        good = profile_text_is(p, p->sample_type[i]->type, types[i][0]) &&
               profile_text_is(p, p->sample_type[i]->unit, types[i][1]);
    ok(good, "Go's sample types");
    ok(profile_text_is(p, p->default_sample_type, "inuse_space"), "default_sample_type");
    ok(profile_text_is(p, p->period_type->type, "space") && profile_text_is(p, p->period_type->unit, "bytes"),
       "period_type");
    is(p->period, 524288, "the period is the rate");
    is(p->time_nanos, 1000000000000, "time_nanos is the start");
    is(p->duration_nanos, 3000000000, "duration_nanos");
    is(p->n_sample, 0, "no samples");
    is(p->n_mapping, 1, "the main binary's mapping all the same");
    ok(profile_text_is(p, p->mapping[0]->filename, "/bin/prog"), "its name");
    ok(profile_text_is(p, p->mapping[0]->build_id, "abcd"), "its build id");
    ok(p->mapping[0]->memory_start == 0x400000 && p->mapping[0]->memory_limit == 0x500000 &&
           p->mapping[0]->file_offset == 0x1000 && !p->mapping[0]->has_functions,
       "its range");
    ProtobufCBinaryData drop = profile_text(p, p->drop_frames);
    ok(drop.len > 10 && memcmp(drop.data + drop.len - 10, "|my_malloc", 10) == 0, "drop_frames, the user's behind");
    ok(comment_has(p, "cprof " CPROF_VERSION ": exact alloc_space=0 alloc_objects=0; estimated alloc_space=0 ±0.0%"),
       "the comment");
    profile_free(p);
    made_free(&made);
}

static void test_exact(void) {
    struct made made = made_new(MADE_SMALL, 1);
    uint32_t lib = made_module(&made, "/lib/lib\xff\xfe\n-\xc3\xa4.so\xc3", 0x7f0000000000, 0x7f0000100000);
    uint32_t root = made_node(&made, 0, made_pc(&made, 0x400100, 1));
    uint32_t middle = made_node(&made, root, made_pc(&made, 0x7f0000000200, lib));
    uint32_t leaf = made_node(&made, middle, made_pc(&made, 0x1234, 0));
    uint32_t cut = made_node(&made, made_node(&made, 0, SEGMENT_PC_TRUNCATED), made_pc(&made, 0x400300, 1));
    uint32_t b48 = made_bucket(&made, leaf, 48);
    uint32_t b33 = made_bucket(&made, leaf, 33);
    uint32_t b0 = made_bucket(&made, leaf, 0);
    uint32_t other = made_bucket(&made, cut, 1000);
    uint32_t never = made_bucket(&made, root, 7);
    made_count(&made, 0, b48, 10, 3);
    made_count(&made, SEGMENT_SHARDS - 1, b48, 2, 1);
    made_count(&made, 0, b33, 4, 0);
    made_count(&made, 0, b0, 5, 5);
    made_count(&made, 1, other, 1, 1);
    made_count(&made, 1, never, 0, 0);
    made.header->region[SEGMENT_THREADS].used = 2;
    made_threads(&made)[1] = (struct segment_thread){.bytes = 1708, .calls = 22, .samples = 22};
    made.header->own_bytes = 5 * 1024 * 1024;
    made.header->allocator = made_string(&made, "/lib/a\nb.so", 11);
    made.header->note = made_string(&made, "nothing", 7);

    ProfProfile *p = encode(&made, false);
    is(p->n_sample, 3, "a sample for each stack and size class; none where nothing happened");
    ok(sample_is(p->sample[0], 5, 0, 0, 0), "blocks of no bytes");
    is_text(label(p, p->sample[0], "bytes"), "", "without a label");
    ok(sample_is(p->sample[1], 16, 708, 12, 516), "two sizes of one class, exactly");
    is_text(label(p, p->sample[1], "bytes"), "44", "labelled with the mean");
    ok(sample_is(p->sample[2], 1, 1000, 0, 0), "another stack");
    is_text(label(p, p->sample[2], "bytes"), "1000", "labelled with its size");
    is(p->sample[1]->n_location_id, 3, "three frames");
    const ProfLocation *first = p->location[p->sample[1]->location_id[0] - 1];
    const ProfLocation *second = p->location[p->sample[1]->location_id[1] - 1];
    const ProfLocation *third = p->location[p->sample[1]->location_id[2] - 1];
    ok(first->address == 0x1234 && first->mapping_id == 0, "the leaf first; in no mapping");
    ok(second->address == 0x7f0000000200 && second->mapping_id == 2, "its caller, in the second mapping");
    ok(third->address == 0x400100 && third->mapping_id == 1, "the root last, in the main binary");
    ok(profile_text_is(p, p->mapping[1]->filename, "/lib/lib\xef\xbf\xbd\xef\xbf\xbd\n-\xc3\xa4.so\xef\xbf\xbd"), "a path made UTF-8");
    const ProfLocation *truncated = p->location[p->sample[2]->location_id[1] - 1];
    ok(truncated->mapping_id == 0 && truncated->n_line == 1, "a cut stack ends in a location without a mapping");
    ok(profile_text_is(p, p->function[truncated->line[0]->function_id - 1]->name, SEGMENT_NAME_TRUNCATED),
       "that has a name");
    ok(comment_has(p, "exact alloc_space=1708 alloc_objects=22; every allocation recorded; truncated 0, dropped 0, "
                      "over memory limit 0; own memory 5120 KiB; allocator /lib/a b.so; nothing"),
       "the comment, one line");
    profile_free(p);
    made_free(&made);
}

static void test_estimate(void) {
    struct made made = made_new(MADE_SMALL, 524288);
    uint32_t node = made_node(&made, 0, made_pc(&made, 0x400100, 1));
    uint32_t small = made_bucket(&made, node, 64);
    uint32_t large = made_bucket(&made, node, 1 << 20);
    made_count(&made, 0, small, 10, 4);
    made_count(&made, 0, large, 3, 3);
    ProfProfile *p = encode(&made, false);
    double w64 = 1 / (1 - exp(-64 / 524288.0));
    double w1m = 1 / (1 - exp(-2.0));
    is(p->n_sample, 2, "two samples");
    ok(fabs(p->sample[0]->value[0] - 10 * w64) <= 1 && fabs(p->sample[0]->value[1] - 640 * w64) <= 1,
       "small blocks count for many");
    ok(fabs(p->sample[0]->value[2] - 6 * w64) <= 1 && fabs(p->sample[0]->value[3] - 384 * w64) <= 1,
       "also those in use");
    ok(fabs(p->sample[1]->value[0] - 3 * w1m) <= 1 && fabs(p->sample[1]->value[1] - 3 * 1048576 * w1m) <= 1,
       "large ones for few");
    ok(p->sample[1]->value[2] == 0 && p->sample[1]->value[3] == 0, "what was freed is not in use");
    double space = 640 * w64 + 3 * 1048576 * w1m;
    double variance = 10 * (1 - 1 / w64) * w64 * w64 * 64 * 64 + 3 * (1 - 1 / w1m) * w1m * w1m * 0x1p40;
    char text[100];
    snprintf(text, sizeof text, "estimated alloc_space=%.0f ±%.1f%%", space, 100 * sqrt(variance) / space);
    ok(comment_has(p, text), "the estimate's error: %s", text);
    ok(comment_has(p, "(one standard error) from 13 samples"), "and what it stands on");
    profile_free(p);
    made_free(&made);
}

static void test_inherited(void) {
    struct made made = made_new(MADE_SMALL, 1);
    uint32_t node = made_node(&made, 0, made_pc(&made, 0x400100, 1));
    uint32_t old = made_bucket(&made, node, 64);
    made.header->inherited_buckets = old + 1;
    uint32_t new = made_bucket(&made, node, 64);
    made_count(&made, 0, old, 10, 1);
    made_count(&made, 0, new, 2, 0);
    ProfProfile *p = encode(&made, false);
    is(p->n_sample, 2, "inherited blocks are kept apart");
    ok(sample_is(p->sample[0], 2, 128, 2, 128), "own");
    is_text(label(p, p->sample[0], "inherited"), "", "without the label");
    ok(sample_is(p->sample[1], 10, 640, 9, 576), "inherited");
    is_text(label(p, p->sample[1], "inherited"), "fork", "with it");
    is_text(label(p, p->sample[1], "bytes"), "64", "and the size");
    ok(comment_has(p, "; inherited at fork alloc_space=640 alloc_objects=10"), "and in the comment");
    profile_free(p);
    made_free(&made);
}

static void test_overflow(void) {
    struct made made = made_new(MADE_SMALL, 1);
    made.header->overflow[7] = (struct segment_overflow){.allocs = 3, .bytes = 302};
    made.header->overflow[1] = (struct segment_overflow){.allocs = 2, .bytes = 2};
    ProfProfile *p = encode(&made, false);
    is(p->n_sample, 2, "a sample for each class");
    ok(sample_is(p->sample[1], 3, 302, 0, 0), "to the byte, and never in use");
    is(p->n_location, 1, "at one location");
    ok(profile_text_is(p, p->function[0]->name, SEGMENT_NAME_OVERFLOW), "that says so");
    ok(comment_has(p, "exact alloc_space=0 alloc_objects=0; records are incomplete: what functions allocated and what is "
                      "in use is at least what is shown; truncated 0, dropped 0, over memory limit 5;"),
       "counted in the comment, and said what that means");
    profile_free(p);
    made.header->rate = 1000;
    p = encode(&made, false);
    double w = (1 / (1 - exp(-0.100)) + 2 / (1 - exp(-0.101)));
    ok(fabs(p->sample[1]->value[0] - w) <= 1, "estimated at another rate");
    ok(comment_has(p, "from 5 samples; records are incomplete: "), "incomplete there as well");
    profile_free(p);
    memset(made.header->overflow, 0, sizeof made.header->overflow);
    made.header->dropped = 1;
    p = encode(&made, false);
    ok(comment_has(p, "from 0 samples; records are incomplete; truncated 0, dropped 1,"),
       "one that was dropped may be a free: not even 'at least'");
    profile_free(p);
    made_free(&made);
}

static void test_peak(void) {
    struct made made = made_new(MADE_SMALL, 1);
    uint32_t bucket = made_bucket(&made, made_node(&made, 0, made_pc(&made, 0x400100, 1)), 64);
    made_count(&made, 0, bucket, 10, 10);
    made_peaks(&made)[bucket] = 7;
    made.header->region[SEGMENT_PEAK].used = bucket + 1;
    made.header->peak_mono_ns = 51500000000;
    ProfProfile *p = encode(&made, true);
    ok(sample_is(p->sample[0], 10, 640, 7, 448), "in use as of the peak");
    ok(comment_has(p, "; in use: at the peak, 1.5 s after the start"), "which the comment says");
    profile_free(p);
    p = encode(&made, false);
    ok(sample_is(p->sample[0], 10, 640, 0, 0), "or as of now");
    profile_free(p);
    made_peaks(&made)[bucket] = 11;
    p = encode(&made, true);
    ok(sample_is(p->sample[0], 10, 640, 10, 640), "never more than was allocated");
    profile_free(p);
    made_count(&made, 1, bucket, 12, 0);
    p = encode(&made, true);
    ok(sample_is(p->sample[0], 22, 1408, 12, 768), "as of now, if more is in use than at the peak that was copied");
    ok(comment_has(p, "; in use: at the peak, 3.0 s after the start"), "which is the peak then");
    profile_free(p);
    made_peaks(&made)[bucket] = 12;
    made.header->peak_mono_ns = 50012000000;
    p = encode(&made, true);
    ok(comment_has(p, "; in use: at the peak, 12 ms after the start"), "short times are in milliseconds");
    profile_free(p);
    made_free(&made);
}

static void test_extremes(void) {
    struct made made = made_new(MADE_SMALL, 1);
    uint32_t node = made_node(&made, 0, made_pc(&made, 0x400100, 1));
    uint32_t b = made_bucket(&made, node, UINT64_MAX);
    uint32_t c = made_bucket(&made, node, 1);
    made_count(&made, 0, b, UINT64_MAX, 0);
    made_count(&made, 0, c, INT64_MAX, 1);
    ProfProfile *p = encode(&made, false);
    ok(sample_is(p->sample[0], INT64_MAX, INT64_MAX, INT64_MAX - 1, INT64_MAX - 1), "exact up to 2^63 - 1");
    ok(sample_is(p->sample[1], INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX), "held there beyond");
    profile_free(p);

    made.header->rate = UINT64_MAX;
    made.header->start_wall_ns = UINT64_MAX;
    made.header->start_mono_ns = UINT64_MAX;
    p = encode(&made, false);
    ok(p->period == INT64_MAX && p->duration_nanos == 0, "also of the scalars");
    profile_free(p);

    made_modules(&made)[1].ready = 0;
    made.header->rate = 0;
    p = encode(&made, false);
    ok(profile_text_is(p, p->mapping[0]->filename, "prog"), "without a first module its mapping has the name");
    profile_free(p);
    strcpy(made.header->name, "[");
    p = encode(&made, false);
    ok(profile_text_is(p, p->mapping[0]->filename, "./["), "which nobody takes for a mapping without a file");
    is(p->period, 1, "rate 0 counts as 1");
    profile_free(p);
    made_free(&made);
}

/* Estimates of more than 53 bits, which each way of rounding takes somewhere else. */
static void test_floating_point(void) {
    struct made made = made_new(MADE_SMALL, 4096);
    uint32_t node = made_node(&made, 0, made_pc(&made, 0x400100, 1));
    for (unsigned k = 1; k <= 5; k++)
        made_count(&made, 0, made_bucket(&made, node, 8 * k), INT64_MAX / 10000 + k, 0);
    ProfProfile *usual = encode(&made, false);
    fesetround(FE_DOWNWARD);
    feenableexcept(FE_INEXACT);
    ProfProfile *p = encode(&made, false);
    ok(fegetround() == FE_DOWNWARD && fegetexcept() == FE_INEXACT, "the program's floating-point mode is left alone");
    feholdexcept(&(fenv_t){0});
    fesetround(FE_TONEAREST);
    is(p->n_sample, 5, "five size classes");
    for (size_t k = 0; k < 5 && k < p->n_sample; k++)
        is(p->sample[k]->value[0], usual->sample[k]->value[0], "and makes no difference");
    profile_free(usual);
    profile_free(p);
    made_free(&made);
}

int main(void) {
    test_head();
    test_exact();
    test_estimate();
    test_inherited();
    test_overflow();
    test_peak();
    test_extremes();
    test_floating_point();
    return tap_done();
}
