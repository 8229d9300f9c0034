/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/serve_profile.h"

#include "tools/load.h"
#include "tools/merge.h"
#include "tools/profile_comment.h"
#include "tools/save.h"
#include "tools/segment_totals.h"
#include "tools/symbolize_names.h"

#include "proto/comment.h"
#include "proto/encode.h"
#include "proto/reader.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- Moments ---- */

int moment_take(struct moment *moment, const struct segment_file *file, enum moment_use use) {
    struct segment_totals totals = {0};
    struct timespec now;
    struct encode_options options = {
        .now_mono_ns = segment_now(), .level = use == MOMENT_BEFORE ? ENCODE_LEVEL : ENCODE_BARE, .class_sizes = true};
    *moment = (struct moment){.inode = file->inode};
    int rc = use == MOMENT_ALONE ? 0 : segment_sum(file, &totals);
    if (rc == 0)
        rc = segment_encode(file, &options, &moment->bytes);
    if (rc != 0)
        return rc;
    clock_gettime(CLOCK_REALTIME, &now);
    moment->wall_ns = (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
    moment->alloc_bytes = totals.alloc_bytes;
    moment->alloc_objects = totals.alloc_objects;
    return 0;
}

void moment_release(struct moment *moment) {
    free(moment->bytes.at);
    *moment = (struct moment){0};
}

static ProfProfile *read_profile(const struct moment *moment, const void *bytes, size_t len) {
    struct prof_error error;
    const char *reason;
    ProfProfile *profile = profile_read_bytes(bytes, len, 0, &error);
    if (profile && !load_settle(profile, &reason)) {
        profile_free(profile);
        return NULL;
    }
    if (profile) {
        profile->time_nanos = (int64_t)moment->wall_ns;
        profile->duration_nanos = 0;
    }
    return profile;
}

ProfProfile *moment_profile(const struct moment *moment) {
    return read_profile(moment, moment->bytes.at, moment->bytes.len);
}

/* A number of the encoder's own writing. */
static uint64_t get_varint(const unsigned char **at, const unsigned char *end) {
    uint64_t value = 0;
    for (unsigned shift = 0; *at < end && shift < 64; shift += 7) {
        unsigned char byte = *(*at)++;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80)
            break;
    }
    return value;
}

/* The end of the field that begins there. The encoder writes numbers and bytes. */
static const unsigned char *skip_field(const unsigned char *at, const unsigned char *end) {
    bool has_length = get_varint(&at, end) % 8 == 2;
    uint64_t value = get_varint(&at, end);
    return !has_length ? at : value <= (uint64_t)(end - at) ? at + value : end;
}

#define SAMPLE_TAG (2u << 3 | 2u) /* of profile.proto */

ProfProfile *moment_frame(struct moment *moment, struct segment_bytes *samples) {
    const unsigned char *at = moment->bytes.at, *end = at + moment->bytes.len;
    unsigned char *rest = malloc(moment->bytes.len + 1);
    size_t rest_len = 0, samples_len = 0;
    if (!rest)
        return NULL;
    /* Samples are moved to the front; there are many in a row. */
    while (at < end) {
        const unsigned char *from = at;
        bool sample = *at == SAMPLE_TAG;
        while (at < end && (*at == SAMPLE_TAG) == sample)
            at = skip_field(at, end);
        size_t len = (size_t)(at - from);
        if (sample)
            memmove(moment->bytes.at + samples_len, from, len);
        else
            memcpy(rest + rest_len, from, len);
        *(sample ? &samples_len : &rest_len) += len;
    }
    ProfProfile *profile = read_profile(moment, rest, rest_len);
    free(rest);
    if (profile) {
        *samples = (struct segment_bytes){.at = moment->bytes.at, .len = samples_len};
        moment->bytes = (struct segment_bytes){0};
    }
    return profile;
}

/* ---- Differences ---- */

static int set_comment(ProfProfile *profile, const char *text) {
    struct names names;
    int rc = names_init(&names, profile);
    int64_t index = rc == 0 ? names_text(&names, text, strlen(text)) : rc;
    names_release(&names);
    int64_t *comments = index > 0 ? realloc(profile->comment, sizeof *comments) : NULL;
    if (!comments)
        return -ENOMEM;
    comments[0] = index;
    profile->comment = comments;
    profile->n_comment = 1;
    return 0;
}

static int describe_difference(ProfProfile *profile, const struct moment *before, const struct moment *after) {
    char text[512];
    struct profile_comment comment;
    profile_comment_read(profile, &comment); /* as of `after` */
    snprintf(text, sizeof text,
             "cprof " CPROF_VERSION ": difference over %.3f s: exact alloc_space=%" PRIu64 " alloc_objects=%" PRIu64
             "; %s%s%s",
             (double)(after->wall_ns - before->wall_ns) / 1e9, after->alloc_bytes - before->alloc_bytes,
             after->alloc_objects - before->alloc_objects,
             profile->period > 1   ? "estimated from samples"
             : comment.incomplete ? ""
                                  : COMMENT_COMPLETE,
             profile->period > 1 && comment.incomplete ? "; " : "", comment.incomplete ? COMMENT_INCOMPLETE : "");
    return set_comment(profile, text);
}

ProfProfile *moment_difference(const struct moment *before, const struct moment *after) {
    ProfProfile *old = moment_profile(before), *profile = moment_profile(after);
    const char *reason;
    int rc = old && profile ? merge_subtract(profile, old, &reason) : -ENOMEM;
    if (rc == 0) {
        profile->time_nanos = (int64_t)after->wall_ns;
        profile->duration_nanos = (int64_t)(after->wall_ns - before->wall_ns);
        rc = describe_difference(profile, before, after);
    }
    profile_free(old);
    if (rc == 0)
        return profile;
    profile_free(profile);
    return NULL;
}

/* ---- Forms ---- */

int profile_set_default_type(ProfProfile *profile, const char *type) {
    struct names names;
    int rc = names_init(&names, profile);
    int64_t index = rc == 0 ? names_text(&names, type, strlen(type)) : rc;
    names_release(&names);
    if (index < 0)
        return (int)index;
    profile->default_sample_type = index;
    return 0;
}

struct growing {
    struct segment_bytes *bytes;
    size_t room;
};

static int append(void *ctx, const void *bytes, size_t len) {
    struct growing *growing = ctx;
    struct segment_bytes *out = growing->bytes;
    if (len > growing->room - out->len) {
        size_t room = 2 * growing->room + len;
        unsigned char *more = realloc(out->at, room);
        if (!more)
            return -ENOMEM;
        out->at = more;
        growing->room = room;
    }
    memcpy(out->at + out->len, bytes, len);
    out->len += len;
    return 0;
}

int profile_to_bytes(const ProfProfile *profile, const struct segment_bytes *samples, struct segment_bytes *bytes) {
    struct growing growing = {.bytes = bytes};
    struct prof_sink sink = {.write = append, .ctx = &growing};
    *bytes = (struct segment_bytes){0};
    int rc = pack_profile(profile, samples->at, samples->len, &sink);
    if (rc != 0) {
        free(bytes->at);
        *bytes = (struct segment_bytes){0};
    }
    return rc;
}

/* ---- Text ---- */

enum { ALLOC_OBJECTS, ALLOC_SPACE, INUSE_OBJECTS, INUSE_SPACE, VALUES };

static int by_use(const void *left, const void *right) {
    const ProfSample *a = *(ProfSample *const *)left, *b = *(ProfSample *const *)right;
    for (int k = VALUES - 1; k >= 0; k--)
        if (a->value[k] != b->value[k])
            return a->value[k] > b->value[k] ? -1 : 1;
    return 0;
}

/* Texts of others go on lines of their own programs' making: what would end the line must not. */
static void print_name(FILE *out, const ProfProfile *profile, int64_t index) {
    ProtobufCBinaryData text = profile_text(profile, index);
    for (size_t i = 0; i < text.len; i++)
        putc(text.data[i] < ' ' || text.data[i] == 0x7f ? '?' : text.data[i], out);
}

static void print_lines(FILE *out, const ProfProfile *profile, const ProfLocation *location) {
    if (location->n_line == 0)
        fprintf(out, "#\t%#" PRIx64 "\n", location->address + 1);
    for (size_t i = 0; i < location->n_line; i++) {
        const ProfFunction *function = profile->function[location->line[i]->function_id - 1];
        fprintf(out, "#\t%#" PRIx64 "\t", location->address + 1);
        print_name(out, profile, function->name);
        if (function->filename != 0) {
            putc('\t', out);
            print_name(out, profile, function->filename);
            fprintf(out, ":%" PRId64, location->line[i]->line);
        }
        putc('\n', out);
    }
}

static void print_figures(FILE *out, const int64_t value[VALUES]) {
    fprintf(out, "%" PRId64 ": %" PRId64 " [%" PRId64 ": %" PRId64 "] @", value[INUSE_OBJECTS], value[INUSE_SPACE],
            value[ALLOC_OBJECTS], value[ALLOC_SPACE]);
}

static void print_mappings(FILE *out, const ProfProfile *profile) {
    fprintf(out, "\nMAPPED_LIBRARIES:\n");
    for (size_t i = 0; i < profile->n_mapping; i++) {
        const ProfMapping *mapping = profile->mapping[i];
        if (mapping->memory_start >= mapping->memory_limit)
            continue;
        fprintf(out, "%08" PRIx64 "-%08" PRIx64 " r-xp %08" PRIx64 " 00:00 0 ", mapping->memory_start,
                mapping->memory_limit, mapping->file_offset);
        print_name(out, profile, mapping->filename);
        putc('\n', out);
    }
}

int profile_print(FILE *out, const ProfProfile *profile) {
    int64_t total[VALUES] = {0};
    ProfSample **sorted = malloc((profile->n_sample + 1) * sizeof(ProfSample *));
    if (!sorted)
        return -ENOMEM;
    memcpy(sorted, profile->sample, profile->n_sample * sizeof(ProfSample *));
    if (profile->n_sample > 0)
        qsort(sorted, profile->n_sample, sizeof(ProfSample *), by_use);
    for (size_t i = 0; i < profile->n_sample; i++)
        for (int k = 0; k < VALUES; k++)
            total[k] += sorted[i]->value[k];
    fprintf(out, "heap profile: ");
    print_figures(out, total);
    fprintf(out, " heap/2\n"); /* twice the rate: nothing is to be scaled any more */
    for (size_t i = 0; i < profile->n_sample; i++) {
        const ProfSample *sample = sorted[i];
        print_figures(out, sample->value);
        for (size_t k = 0; k < sample->n_location_id; k++)
            fprintf(out, " %#" PRIx64, profile->location[sample->location_id[k] - 1]->address + 1);
        putc('\n', out);
        for (size_t k = 0; k < sample->n_location_id; k++)
            print_lines(out, profile, profile->location[sample->location_id[k] - 1]);
        putc('\n', out);
    }
    fprintf(out, "\n# rate = %" PRId64 "\n", profile->period);
    for (size_t i = 0; i < profile->n_comment; i++) {
        fprintf(out, "# ");
        print_name(out, profile, profile->comment[i]);
        putc('\n', out);
    }
    print_mappings(out, profile);
    free(sorted);
    return 0;
}
