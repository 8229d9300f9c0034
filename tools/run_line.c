/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/run_line.h"

#include "tools/profile_comment.h"
#include "tools/sample_error.h"
#include "tools/segment_totals.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void read_program(struct run_line *line, const ProfProfile *profile) {
    ProtobufCBinaryData name = profile_text(profile, profile->n_mapping > 0 ? profile->mapping[0]->filename : -1);
    const uint8_t *slash = memrchr(name.data, '/', name.len);
    const uint8_t *base = slash ? slash + 1 : name.data;
    snprintf(line->program, sizeof line->program, "%.*s", (int)(name.data + name.len - base), (const char *)base);
    for (char *at = line->program; *at; at++)
        if ((unsigned char)*at < ' ' || *at == 0x7f)
            *at = '?';
}

static uint64_t value_of(const ProfSample *sample, int type) {
    return type >= 0 && sample->n_value > (size_t)type && sample->value[type] > 0 ? (uint64_t)sample->value[type] : 0;
}

/* What is in use, and its error. */
static void sum_up(struct run_line *line, const ProfProfile *profile) {
    int space = profile_sample_type(profile, "inuse_space"), objects = profile_sample_type(profile, "inuse_objects");
    uint64_t rate = profile->period > 1 ? (uint64_t)profile->period : 1;
    struct estimate_total total = {0};
    for (size_t i = 0; i < profile->n_sample; i++) {
        uint64_t bytes = value_of(profile->sample[i], space), blocks = value_of(profile->sample[i], objects);
        sample_error_add(&total, bytes, blocks, rate);
        line->inuse_bytes = add_saturated(line->inuse_bytes, bytes);
    }
    line->inuse_error = sqrt(total.space_var);
}

void run_line_read(struct run_line *line, const char *path) {
    *line = (struct run_line){.path = strdup(path)};
    ProfProfile *profile = profile_read(path, 0, &line->error);
    if (!profile)
        return;
    struct profile_comment comment;
    profile_comment_read(profile, &comment);
    if (comment.exact) {
        line->alloc_bytes = comment.alloc_bytes;
        line->alloc_objects = comment.alloc_objects;
        line->peak = comment.peak;
        line->incomplete = comment.incomplete;
        line->unsure = comment.unsure;
        line->over_limit = comment.over_limit;
        read_program(line, profile);
        sum_up(line, profile);
        line->start_ns = (uint64_t)profile->time_nanos;
        line->duration_ns = (uint64_t)profile->duration_nanos;
        line->estimated = profile->period > 1;
        line->empty = profile->n_sample == 0;
    } else {
        strcpy(line->error.text, "is not a profile of cprof's");
    }
    profile_free(profile);
}

void run_line_release(struct run_line *line) {
    free(line->path);
    free(line->earlier_path[0]);
    free(line->earlier_path[1]);
}

/* ---- Of one process ---- */

static bool is_of_one(const struct run_line *a, const struct run_line *b) {
    return !a->error.text[0] && !b->error.text[0] && a->start_ns == b->start_ns && a->peak == b->peak;
}

static int compare_moments(const void *left, const void *right) {
    const struct run_line *a = left, *b = right;
    if (a->start_ns != b->start_ns)
        return a->start_ns < b->start_ns ? -1 : 1;
    if (a->peak != b->peak)
        return a->peak ? 1 : -1;
    return a->duration_ns < b->duration_ns ? -1 : a->duration_ns > b->duration_ns;
}

/* `before` is the one in front of it, with those in front of that. */
static void take_over(struct run_line *line, struct run_line *before) {
    bool first = before->earlier == 0;
    line->earlier = before->earlier + 1;
    line->earlier_path[0] = first ? before->path : before->earlier_path[0];
    line->earlier_ns[0] = first ? before->duration_ns : before->earlier_ns[0];
    line->earlier_path[1] = first ? NULL : before->path;
    line->earlier_ns[1] = before->duration_ns;
    free(before->earlier_path[1]);
}

size_t run_line_fold(struct run_line *lines, size_t count) {
    size_t kept = 0;
    qsort(lines, count, sizeof *lines, compare_moments);
    for (size_t i = 0; i < count; i++) {
        if (kept > 0 && is_of_one(&lines[kept - 1], &lines[i]))
            take_over(&lines[i], &lines[--kept]);
        lines[kept++] = lines[i];
    }
    return kept;
}

/* ---- Printing ---- */

int run_line_compare(const void *left, const void *right) {
    const struct run_line *a = left, *b = right;
    if (a->empty != b->empty)
        return a->empty ? 1 : -1;
    if (a->alloc_bytes != b->alloc_bytes)
        return a->alloc_bytes > b->alloc_bytes ? -1 : 1;
    return a->path && b->path ? strcmp(a->path, b->path) : 0;
}

static void print_earlier(const struct run_line *line) {
    const char *first = line->earlier_path[0], *last = line->earlier_path[1];
    if (line->earlier == 1)
        fprintf(stderr, "cprof: and one before that, after %.1f s: %s\n", (double)line->earlier_ns[0] / 1e9,
                first ? first : "");
    else if (line->earlier > 1)
        fprintf(stderr, "cprof: and %zu before that, after %.1f s to %.1f s: %s to %s\n", line->earlier,
                (double)line->earlier_ns[0] / 1e9, (double)line->earlier_ns[1] / 1e9, first ? first : "",
                last ? last : "");
}

void run_line_print(const struct run_line *line) {
    char allocated[SIZE_TEXT_MAX], in_use[SIZE_TEXT_MAX];
    const char *path = line->path ? line->path : "";
    if (line->error.text[0]) {
        fprintf(stderr, "cprof: %s: %s\n", path, line->error.text);
        return;
    }
    if (line->empty) {
        fprintf(stderr, "cprof: no sample in %s%s\n", path,
                line->estimated ? "; --rate 1 records every allocation" : "");
        return;
    }
    fprintf(stderr, "cprof: %s: ", line->program);
    if (!line->peak)
        fprintf(stderr, "%s allocated in %" PRIu64 " blocks, ", size_text(line->alloc_bytes, allocated),
                line->alloc_objects);
    char moment[32];
    snprintf(moment, sizeof moment, "after %.1f s", (double)line->duration_ns / 1e9);
    fprintf(stderr, "%s%s%s in use %s: go tool pprof %s\n", line->incomplete && !line->unsure ? "at least " : "",
            line->estimated || line->unsure ? "about " : "",
            size_estimate_text(line->inuse_bytes, line->inuse_error, in_use),
            line->peak      ? "at the peak"
            : line->passing ? moment
                            : "at the end",
            path);
    print_earlier(line);
    if (line->incomplete)
        fprintf(stderr, "cprof: %s: its records are incomplete%s\n", path,
                line->over_limit > 0 ? ", the memory limit was reached; see CPROF_MAX_MEMORY" : "");
}
