/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/segment_totals.h"

#include "proto/estimate.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

struct summing {
    const struct segment_view *view;
    struct segment_totals *totals;
};

/* Integers at rate 1; there a sum of products may not lose its last digits. */
static uint64_t result(uint64_t exact, double estimated, uint64_t rate) {
    return rate <= 1 ? exact : estimated < 0x1p63 ? (uint64_t)(estimated + 0.5) : INT64_MAX;
}

static int sum_up(void *ctx) {
    struct summing *summing = ctx;
    const struct segment_view *view = summing->view;
    struct segment_totals *totals = summing->totals;
    struct segment_thread exact = segment_view_totals(view);
    struct estimate_total in_use = {0}, at_peak = {0};
    struct tally unused = {0};
    uint64_t rate = view->header.rate;
    for (uint32_t i = SEGMENT_BUCKET_FIRST; i < view->used[SEGMENT_BUCKETS]; i++) {
        struct segment_bucket bucket;
        if (!segment_view_bucket(view, i, &bucket))
            continue;
        struct segment_count count = segment_view_counts(view, i);
        uint64_t live = count.allocs - count.frees, peak = segment_view_peak(view, i);
        tally_add(&unused, bucket.size, live, live, rate, &in_use);
        tally_add(&unused, bucket.size, peak, peak, rate, &at_peak);
    }
    *totals = (struct segment_totals){
        .alloc_bytes = exact.bytes,
        .alloc_objects = exact.calls,
        .samples = exact.samples,
        .inuse_bytes = result(in_use.bytes, in_use.space, rate),
        .inuse_objects = result(in_use.blocks, in_use.objects, rate),
        .inuse_error = sqrt(in_use.space_var),
        .has_peak = view->used[SEGMENT_PEAK] > SEGMENT_BUCKET_FIRST,
        .peak_bytes = result(at_peak.bytes, at_peak.space, rate),
        .peak_objects = result(at_peak.blocks, at_peak.objects, rate),
        .peak_error = sqrt(at_peak.space_var),
    };
    return 0;
}

int segment_sum(const struct segment_file *file, struct segment_totals *totals) {
    struct summing summing = {.view = &file->view, .totals = totals};
    *totals = (struct segment_totals){0};
    return segment_guard(sum_up, &summing);
}

const char *size_text(uint64_t bytes, char text[SIZE_TEXT_MAX]) {
    return size_estimate_text(bytes, 0, text);
}

/* The place of the error's first digit is the last that is written: 13MB for 13.42MB that may be 2.1MB off. */
const char *size_estimate_text(uint64_t bytes, double error, char text[SIZE_TEXT_MAX]) {
    static const char *const units[] = {"B", "kB", "MB", "GB", "TB", "PB", "EB"};
    double value = (double)bytes;
    size_t unit = 0;
    for (; value >= 1024 && unit + 1 < sizeof units / sizeof units[0]; unit++) {
        value /= 1024;
        error /= 1024;
    }
    int decimals = unit == 0 ? 0 : 2;
    double step = error > 0 ? pow(10, floor(log10(error))) : 0;
    if (step >= 1)
        value = round(value / step) * step;
    if (step > 0 && decimals > 0)
        decimals = step >= 1 ? 0 : step > 0.05 ? 1 : 2;
    snprintf(text, SIZE_TEXT_MAX, "%.*f%s", decimals, value, units[unit]);
    return text;
}

const char *segment_name(const struct segment_file *file, char text[64]) {
    memcpy(text, file->view.header.name, 64);
    text[63] = '\0';
    for (char *at = text; *at; at++)
        if ((unsigned char)*at < ' ' || *at == 0x7f)
            *at = '?';
    return text;
}

struct reading {
    const struct segment_view *view;
    char *text;
    size_t room, len;
};

static int read_out(void *ctx) {
    struct reading *r = ctx;
    r->len = segment_view_text(r->view, r->view->header.out, SIZE_MAX, r->text, r->room);
    return 0;
}

size_t segment_out(const struct segment_file *file, char *text, size_t room) {
    struct reading reading = {.view = &file->view, .text = text, .room = room};
    text[0] = '\0';
    return segment_guard(read_out, &reading) == 0 ? reading.len : 0;
}
