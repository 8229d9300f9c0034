/* SPDX-License-Identifier: Apache-2.0 */
/* How: nodes are gone through in the order of their making. The buckets of a node are summed up by size class and
 * origin, its stack is turned into location ids by way of the parents, and a sample is written for each sum. Everything
 * else follows from that: places.h writes a location when a stack first needs it, batch.h writes a message when it is
 * full, and the comment, which sums up all samples, goes into the last message. */
#include "proto/encode.h"

#include "proto/batch.h"
#include "proto/comment.h"
#include "proto/drop_frames.h"
#include "proto/estimate.h"
#include "proto/in_use.h"
#include "proto/places.h"

#include <errno.h>
#include <fenv.h>
#include <string.h>

/* A profile of fewer nodes is a few KiB, compressed with less memory (gzip.h). */
#define FEW_NODES 2048
#define CLASS_WORDS ((SIZE_CLASSES + 63) / 64)

enum { OWN, INHERITED, ORIGINS };

/* Texts that every profile has, in the order in which they are added. */
enum text {
    TEXT_EMPTY,
    TEXT_ALLOC_OBJECTS,
    TEXT_ALLOC_SPACE,
    TEXT_INUSE_OBJECTS,
    TEXT_INUSE_SPACE,
    TEXT_COUNT,
    TEXT_BYTES,
    TEXT_SPACE,
    TEXT_INHERITED,
    TEXT_FORK,
    TEXTS
};

static const char *const texts[TEXTS] = {
    [TEXT_EMPTY] = "",
    [TEXT_ALLOC_OBJECTS] = "alloc_objects",
    [TEXT_ALLOC_SPACE] = "alloc_space",
    [TEXT_INUSE_OBJECTS] = "inuse_objects",
    [TEXT_INUSE_SPACE] = "inuse_space",
    [TEXT_COUNT] = "count",
    [TEXT_BYTES] = "bytes",
    [TEXT_SPACE] = "space",
    [TEXT_INHERITED] = "inherited",
    [TEXT_FORK] = "fork",
};

struct encoder {
    const struct segment_view *view;
    const struct encode_options *options;
    const struct prof_memory *memory;
    struct batch *batch;
    uint64_t rate;
    uint64_t over_limit;
    bool at_peak; /* in use is what was at the copied peak */
    struct places places;

    uint64_t classes[ORIGINS][CLASS_WORDS]; /* bits: which tallies are in use */
    struct estimate_total total[ORIGINS];

    ProfValueType value_type[BATCH_VALUES];
    ProfValueType *value_type_ptr[BATCH_VALUES];
    ProfValueType period_type;
    int64_t comment_text;

    /* From here on nothing is cleared at the start: small profiles touch little of it. */
    struct tally tally[ORIGINS][SIZE_CLASSES]; /* of the stack at hand, by origin and size class */
    uint64_t stack[BATCH_STACK_MAX];
    struct comment comment;
    char text[BATCH_TEXT_MAX];
};

static int64_t to_int64(uint64_t value) {
    return value > INT64_MAX ? INT64_MAX : (int64_t)value;
}

/* ---- The head: everything that is there once ---- */

static int64_t add_drop_frames(struct encoder *e) {
    static const char fixed[] = DROP_FRAMES "|";
    _Static_assert(sizeof fixed < sizeof e->text / 2, "there is room for the user's");

    size_t len = sizeof fixed - 1;
    memcpy(e->text, fixed, len);
    /* As it stands: pprof joins alternatives by "|", which binds weakest, so the user's needs no parentheses. */
    size_t more =
        segment_view_text(e->view, e->view->header.drop_frames, SIZE_MAX, e->text + len, sizeof e->text - len);
    return batch_text(e->batch, e->text, more > 0 ? len + more : len - 1);
}

static int write_head(struct encoder *e) {
    static const enum text types[BATCH_VALUES][2] = {
        {TEXT_ALLOC_OBJECTS, TEXT_COUNT},
        {TEXT_ALLOC_SPACE, TEXT_BYTES},
        {TEXT_INUSE_OBJECTS, TEXT_COUNT},
        {TEXT_INUSE_SPACE, TEXT_BYTES},
    };
    const struct segment_header *header = &e->view->header;

    for (int i = TEXT_EMPTY + 1; i < TEXTS; i++) {
        int64_t at = batch_text(e->batch, texts[i], strlen(texts[i]));
        if (at < 0)
            return (int)at;
    }
    int64_t drop_frames = add_drop_frames(e);
    if (drop_frames < 0)
        return (int)drop_frames;

    ProfProfile *profile = batch_profile(e->batch);
    for (size_t i = 0; i < BATCH_VALUES; i++) {
        perftools__profiles__value_type__init(&e->value_type[i]);
        e->value_type[i].type = types[i][0];
        e->value_type[i].unit = types[i][1];
        e->value_type_ptr[i] = &e->value_type[i];
    }
    profile->sample_type = e->value_type_ptr;
    profile->n_sample_type = BATCH_VALUES;
    profile->default_sample_type = TEXT_INUSE_SPACE;
    perftools__profiles__value_type__init(&e->period_type);
    e->period_type.type = TEXT_SPACE;
    e->period_type.unit = TEXT_BYTES;
    profile->period_type = &e->period_type;
    profile->period = to_int64(e->rate);
    profile->time_nanos = to_int64(header->start_wall_ns);
    uint64_t now = e->options->now_mono_ns;
    profile->duration_nanos = now > header->start_mono_ns ? to_int64(now - header->start_mono_ns) : 0;
    profile->drop_frames = drop_frames;
    return 0;
}

/* ---- Samples ---- */

/* Fills e->stack, leaf first. Returns the number of locations, or a negative errno. */
static int64_t resolve_stack(struct encoder *e, uint32_t index) {
    size_t count = 0;
    while (index != 0) {
        struct segment_node node;
        /* Parents have smaller indices, so this ends; but a damaged tree may be a single chain. */
        bool whole = count < BATCH_STACK_MAX - 1 && segment_view_node(e->view, index, &node);
        int64_t id = places_location(&e->places, whole ? node.pc : SEGMENT_PC_TRUNCATED);
        if (id < 0)
            return id;
        e->stack[count++] = (uint64_t)id;
        if (!whole)
            break;
        index = node.parent;
    }
    return (int64_t)count;
}

static void tally_bucket(struct encoder *e, uint32_t index, const struct segment_bucket *bucket) {
    struct segment_count count = segment_view_counts(e->view, index);
    if (count.allocs == 0)
        return;
    uint64_t live = count.allocs - count.frees;
    if (e->at_peak) {
        /* Taken at another moment than the counts: it may be a little ahead of them. */
        live = segment_view_peak(e->view, index);
        if (live > count.allocs)
            live = count.allocs;
    }
    int origin = index < e->view->header.inherited_buckets ? INHERITED : OWN;
    unsigned class = size_class(bucket->size);
    uint64_t *word = &e->classes[origin][class / 64], bit = UINT64_C(1) << class % 64;
    if (!(*word & bit))
        e->tally[origin][class] = (struct tally){0};
    *word |= bit;
    tally_add(&e->tally[origin][class], bucket->size, count.allocs, live, e->rate, &e->total[origin]);
}

static void tally_node(struct encoder *e, uint32_t node, uint32_t index) {
    struct segment_bucket bucket;
    while (segment_view_bucket(e->view, index, &bucket) && bucket.node == node) {
        /* Newer ones may not have all that they refer to in the view. */
        if (index >= SEGMENT_BUCKET_FIRST && index < e->view->used[SEGMENT_BUCKETS])
            tally_bucket(e, index, &bucket);
        index = bucket.next;
    }
}

static int write_sample(struct encoder *e, size_t depth, const struct tally *tally, uint64_t which, int origin) {
    int64_t values[BATCH_VALUES];
    ProfLabel labels[BATCH_LABELS_MAX];
    size_t label_count = 0;

    tally_values(tally, e->rate, which, values);
    if ((values[0] | values[1] | values[2] | values[3]) == 0)
        return 0;
    uint64_t size = tally_size(tally);
    if (e->options->class_sizes)
        size = size_class_limit(size_class(size));
    if (size > 0) {
        ProfLabel *label = &labels[label_count++];
        perftools__profiles__label__init(label);
        label->key = TEXT_BYTES;
        label->num = to_int64(size);
        label->num_unit = TEXT_BYTES;
    }
    if (origin == INHERITED) {
        ProfLabel *label = &labels[label_count++];
        perftools__profiles__label__init(label);
        label->key = TEXT_INHERITED;
        label->str = TEXT_FORK;
    }
    return batch_sample(e->batch, e->stack, depth, values, labels, label_count);
}

/* Writes what was tallied at one stack and leaves no tally in use. */
static int write_tallies(struct encoder *e, uint32_t node, size_t depth) {
    for (int origin = 0; origin < ORIGINS; origin++) {
        for (unsigned word = 0; word < CLASS_WORDS; word++) {
            while (e->classes[origin][word] != 0) {
                unsigned class = word * 64 + (unsigned)__builtin_ctzll(e->classes[origin][word]);
                e->classes[origin][word] &= e->classes[origin][word] - 1;
                int rc = write_sample(e, depth, &e->tally[origin][class], (uint64_t)node + class, origin);
                if (rc < 0)
                    return rc;
            }
        }
    }
    return 0;
}

/* Most nodes are callers only, and some buckets were made but not yet counted in: they need no stack. */
static bool tallied(const struct encoder *e) {
    uint64_t any = 0;
    for (unsigned word = 0; word < CLASS_WORDS; word++)
        any |= e->classes[OWN][word] | e->classes[INHERITED][word];
    return any != 0;
}

static int write_mapping(struct encoder *e) {
    return places_main_mapping(&e->places);
}

static int write_samples(struct encoder *e) {
    for (uint32_t index = 1; index < e->view->used[SEGMENT_NODES]; index++) {
        struct segment_node node;
        if (!segment_view_node(e->view, index, &node) || node.bucket == 0)
            continue;
        tally_node(e, index, node.bucket);
        if (!tallied(e))
            continue;
        int64_t depth = resolve_stack(e, index);
        if (depth < 0)
            return (int)depth;
        int rc = write_tallies(e, index, (size_t)depth);
        if (rc < 0)
            return rc;
    }
    return 0;
}

/* Samples that have no bucket. Of a class the sum of the sizes is known; they are taken as near to each other as that
 * sum allows, so that it is kept to the byte. */
static int write_overflow(struct encoder *e) {
    for (unsigned k = 0; k < SEGMENT_OVERFLOW_CLASSES; k++) {
        const struct segment_overflow *class = &e->view->header.overflow[k];
        if (class->allocs == 0)
            continue;
        struct tally tally = {0};
        uint64_t mean = class->bytes / class->allocs;
        uint64_t larger = class->bytes % class->allocs;
        tally_add(&tally, mean, class->allocs - larger, 0, e->rate, &e->total[OWN]);
        tally_add(&tally, mean + 1, larger, 0, e->rate, &e->total[OWN]);
        e->over_limit = add_saturated(e->over_limit, class->allocs);
        int64_t id = places_location(&e->places, SEGMENT_PC_OVERFLOW);
        if (id < 0)
            return (int)id;
        e->stack[0] = (uint64_t)id;
        int rc = write_sample(e, 1, &tally, k, OWN);
        if (rc < 0)
            return rc;
    }
    return 0;
}

/* The comment sums up what was written, so it comes last. */
static int write_comment(struct encoder *e) {
    struct comment_facts facts = {
        .own = &e->total[OWN],
        .inherited = &e->total[INHERITED],
        .over_limit = e->over_limit,
        .partial = e->options->partial,
        .peak = e->options->peak,
        .peak_mono_ns = e->at_peak ? e->view->header.peak_mono_ns : e->options->now_mono_ns,
    };
    comment_write(&e->comment, e->view, &facts);
    e->comment_text = batch_text(e->batch, e->comment.text, e->comment.len);
    if (e->comment_text < 0)
        return (int)e->comment_text;
    batch_profile(e->batch)->comment = &e->comment_text;
    batch_profile(e->batch)->n_comment = 1;
    return 0;
}

static int write_all(struct encoder *e) {
    int (*const parts[])(struct encoder *) = {write_head, write_mapping, write_samples, write_overflow, write_comment};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        int rc = parts[i](e);
        if (rc < 0)
            return rc;
    }
    return batch_finish(e->batch);
}

/* ---- Memory ---- */

static void encoder_free(struct encoder *e) {
    places_close(&e->places);
    batch_close(e->batch);
    e->memory->free(e->memory->ctx, e);
}

static int encode(const struct segment_view *view, const struct encode_options *options,
                  const struct prof_memory *memory, const struct prof_sink *sink) {
    struct encoder *e = memory->alloc(memory->ctx, sizeof *e);
    if (!e)
        return -ENOMEM;
    memset(e, 0, offsetof(struct encoder, tally));
    e->view = view;
    e->options = options;
    e->memory = memory;
    e->rate = view->header.rate > 0 ? view->header.rate : 1;
    e->at_peak = options->peak && in_use_peak_is_past(view);
    int level = options->level != 0 ? options->level : ENCODE_LEVEL;
    int rc = batch_open(&e->batch, memory, sink, level, view->used[SEGMENT_NODES] < FEW_NODES);
    if (rc == 0)
        rc = places_open(&e->places, view, e->batch, memory);
    if (rc == 0)
        rc = write_all(e);
    encoder_free(e);
    return rc;
}

int profile_encode(const struct segment_view *view, const struct encode_options *options,
                   const struct prof_memory *memory, const struct prof_sink *sink) {
    uint64_t version = view->header.peak_version;
    if (options->peak && version % 2 != 0)
        return -EAGAIN;

    /* The program may have changed the rounding, or asked for a signal when a result is inexact. */
    fenv_t environment;
    fegetenv(&environment);
    fesetenv(FE_DFL_ENV);
    int rc = encode(view, options, memory, sink);
    fesetenv(&environment);

    if (rc == 0 && options->peak && segment_view_peak_version(view) != version)
        rc = -EAGAIN;
    return rc;
}
