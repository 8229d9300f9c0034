/* SPDX-License-Identifier: Apache-2.0 */
/* How: a text of fixed size, with numbers written by hand: no stdio inside a profiled process. What does not fit is
 * left out; the figures come first. */
#include "proto/comment.h"

#include <string.h>

static void put(struct comment *c, const char *text, size_t len) {
    size_t room = sizeof c->text - c->len;
    if (len > room)
        len = room;
    memcpy(c->text + c->len, text, len);
    c->len += len;
}

static void put_text(struct comment *c, const char *text) {
    put(c, text, strlen(text));
}

static void put_number(struct comment *c, const char *before, uint64_t n) {
    char digits[20];
    size_t at = sizeof digits;
    do {
        digits[--at] = (char)('0' + n % 10);
        n /= 10;
    } while (n > 0);
    put_text(c, before);
    put(c, digits + at, sizeof digits - at);
}

static void put_tenths(struct comment *c, const char *before, uint64_t tenths) {
    put_number(c, before, tenths / 10);
    put_number(c, ".", tenths % 10);
}

/* A text of the segment. pprof prints comments line by line above its tables, so the line must stay one. */
static void put_string(struct comment *c, const struct segment_view *view, const char *before, uint32_t offset) {
    size_t len = segment_view_text(view, offset, SIZE_MAX, c->scratch, sizeof c->scratch);
    if (len == 0)
        return;
    for (size_t i = 0; i < len; i++)
        if ((unsigned char)c->scratch[i] < ' ')
            c->scratch[i] = ' ';
    put_text(c, before);
    put(c, c->scratch, len);
}

static uint64_t whole(double value) {
    return value < 0x1p63 ? (uint64_t)(value + 0.5) : INT64_MAX;
}

static void put_estimate(struct comment *c, const struct segment_view *view, const struct segment_thread *exact,
                         const struct estimate_total *sampled) {
    struct estimate_total total = *sampled;
    /* A note says that more may be missing than what no sample fell into. */
    if (view->header.note == 0)
        estimate_add_missing(&total, exact->bytes, exact->calls, view->header.rate);
    put_number(c, "; estimated alloc_space=", whole(total.space));
    put_tenths(c, " ±", error_permille(total.space_var, total.space));
    put_number(c, "% alloc_objects=", whole(total.objects));
    put_tenths(c, " ±", error_permille(total.objects_var, total.objects));
    put_number(c, "% (one standard error) from ", total.blocks);
    put_text(c, " samples");
}

static void put_inherited(struct comment *c, const struct estimate_total *total, uint64_t rate) {
    if (total->blocks == 0)
        return;
    put_number(c, "; inherited at fork alloc_space=", rate <= 1 ? total->bytes : whole(total->space));
    put_number(c, " alloc_objects=", rate <= 1 ? total->blocks : whole(total->objects));
}

void comment_write(struct comment *c, const struct segment_view *view, const struct comment_facts *facts) {
    const struct segment_header *header = &view->header;
    struct segment_thread exact = segment_view_totals(view);
    bool complete = header->dropped == 0 && facts->over_limit == 0 && !facts->partial;

    c->len = 0;
    put_text(c, "cprof " CPROF_VERSION ": ");
    put_number(c, "exact alloc_space=", exact.bytes);
    put_number(c, " alloc_objects=", exact.calls);
    if (header->rate <= 1)
        put_text(c, complete ? "; " COMMENT_COMPLETE : "");
    else
        put_estimate(c, view, &exact, facts->own);
    put_text(c, complete ? "" : "; " COMMENT_INCOMPLETE);
    put_text(c, complete || header->dropped > 0 || facts->partial ? "" : COMMENT_AT_LEAST);
    put_number(c, "; truncated ", header->truncated);
    put_number(c, ", dropped ", header->dropped);
    put_number(c, ", over memory limit ", facts->over_limit);
    if (facts->partial)
        put_text(c, ", those that the process could not share left out");
    put_number(c, "; own memory ", header->own_bytes / 1024);
    put_text(c, " KiB");
    put_inherited(c, facts->inherited, header->rate);
    if (facts->peak) {
        uint64_t start = header->start_mono_ns;
        uint64_t after = facts->peak_mono_ns > start ? facts->peak_mono_ns - start : 0;
        put_text(c, "; in use: at the peak, ");
        if (after < 1000000000)
            put_number(c, "", after / 1000000);
        else
            put_tenths(c, "", after / 100000000);
        put_text(c, after < 1000000000 ? " ms after the start" : " s after the start");
    }
    put_string(c, view, "; allocator ", header->allocator);
    put_string(c, view, "; ", header->note);
}
