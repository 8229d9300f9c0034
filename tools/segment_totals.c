/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/segment_totals.h"

#include "proto/in_use.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

struct summing {
    const struct segment_view *view;
    struct segment_totals *totals;
};

static int sum_up(void *ctx) {
    struct summing *summing = ctx;
    const struct segment_view *view = summing->view;
    struct segment_totals *totals = summing->totals;
    struct segment_thread exact = segment_view_totals(view);
    struct estimate_total now = {0}, at_peak = {0};
    uint64_t rate = view->header.rate;
    in_use_sum(view, &now, &at_peak);
    bool past = in_use_bytes(&at_peak, rate) >= in_use_bytes(&now, rate);
    const struct estimate_total *peak = past ? &at_peak : &now;
    bool over_limit = false;
    for (unsigned k = 0; k < SEGMENT_OVERFLOW_CLASSES; k++)
        over_limit |= view->header.overflow[k].allocs > 0;
    *totals = (struct segment_totals){
        .alloc_bytes = exact.bytes,
        .alloc_objects = exact.calls,
        .samples = exact.samples,
        .inuse_bytes = in_use_bytes(&now, rate),
        .inuse_objects = in_use_objects(&now, rate),
        .inuse_error = sqrt(now.space_var),
        .about = rate > 1 || view->header.dropped > 0 || view->header.private_memory != 0,
        .at_least = over_limit,
        .has_peak = view->used[SEGMENT_PEAK] > SEGMENT_BUCKET_FIRST,
        .peak_bytes = in_use_bytes(peak, rate),
        .peak_objects = in_use_objects(peak, rate),
        .peak_error = sqrt(peak->space_var),
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

const char *size_mark(const struct segment_totals *totals) {
    return totals->at_least ? "≥" : totals->about ? "≈" : "";
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
