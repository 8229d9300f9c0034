/* SPDX-License-Identifier: Apache-2.0 */
/* The tree as a picture that stands alone: no scripts; what the pointer is on is told by the viewer, from <title>. */
#include "tools/flame.h"

#include "tools/units.h"

#include "proto/utf8.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define WIDTH 1200.0
#define MARGIN 10.0
#define ROW 18.0
#define TOP 46.0
#define NARROWEST 0.25 /* frames narrower than this are left out */
#define LETTER 6.7     /* width of a letter of the fixed-width font, at 11 px */

/* ---- Texts ---- */

/* A character as XML has it; many may not occur in it at all. */
static void print_character(FILE *out, const unsigned char *at, size_t n) {
    bool forbidden = n == 0 || (*at < ' ' && *at != '\t') || *at == 0x7f ||
                     (n == 3 && at[0] == 0xef && at[1] == 0xbf && at[2] >= 0xbe); /* U+FFFE, U+FFFF */
    if (forbidden)
        fwrite(UTF8_REPLACEMENT, 1, UTF8_REPLACEMENT_LEN, out);
    else if (n == 1 && strchr("<>&\"'", *at))
        fprintf(out, "&#%d;", *at);
    else
        fwrite(at, 1, n, out);
}

/* At most `most` characters, then an ellipsis. */
static void print_text(FILE *out, struct flame_bytes text, size_t most) {
    const unsigned char *at = (const unsigned char *)text.at, *end = at + text.len;
    size_t count = 0;
    for (const unsigned char *c = at; c < end && count <= most; count++) {
        size_t n = utf8_character(c, (size_t)(end - c));
        c += n > 0 ? n : 1;
    }
    bool cut = count > most;
    for (size_t left = cut ? most - 1 : most; at < end && left > 0; left--) {
        size_t n = utf8_character(at, (size_t)(end - at));
        print_character(out, at, n);
        at += n > 0 ? n : 1;
    }
    if (cut)
        fputs("…", out);
}

static struct flame_bytes bytes(const char *text) {
    return (struct flame_bytes){text, strlen(text)};
}

/* ---- Frames ---- */

struct picture {
    FILE *out;
    const struct flame *flame;
    const struct flame_about *about;
    const char *unit;
    const int64_t *totals; /* with signs */
    const int64_t *widths; /* without */
    size_t type;
};

static uint32_t hash(struct flame_bytes text) {
    uint32_t value = 2166136261u;
    for (size_t i = 0; i < text.len; i++)
        value = (value ^ (unsigned char)text.at[i]) * 16777619u;
    return value ^ value >> 15;
}

/* The program's own functions are warm, those of libraries cool; beside a base what grew is red, what shrank blue. */
static void print_color(const struct picture *picture, uint32_t node, int64_t total, int64_t width) {
    const struct flame *flame = picture->flame;
    const struct flame_frame *frame = &flame->frames[flame->nodes[node].frame];
    if (picture->about->base) {
        double part = width > 0 ? (double)total / (double)width : 0;
        fprintf(picture->out, "hsl(%d,%d%%,%d%%)", part >= 0 ? 8 : 215, (int)(75 * (part < 0 ? -part : part)),
                (int)(88 - 14 * (part < 0 ? -part : part)));
        return;
    }
    const ProfProfile *profile = picture->about->profile;
    ProtobufCBinaryData program = profile_text(profile, profile->n_mapping > 0 ? profile->mapping[0]->filename : 0);
    struct flame_bytes module = flame_text_bytes(flame, frame->module);
    uint32_t file = hash(flame_text_bytes(flame, frame->file)), name = hash(flame_text_bytes(flame, frame->name));
    bool own = module.len == program.len && memcmp(module.at, program.data, module.len) == 0;
    unsigned hue = own ? 10 + file % 40 : 158 + hash(module) % 60 + file % 44;
    fprintf(picture->out, "hsl(%u,%u%%,%u%%)", hue, own ? 84 : 52, 70 + name % 11);
}

static void print_title(const struct picture *picture, uint32_t number, int64_t total) {
    const struct flame *flame = picture->flame;
    const struct flame_node *node = &flame->nodes[number];
    const struct flame_frame *frame = &flame->frames[node->frame];
    char value[UNITS_TEXT_MAX], part[UNITS_TEXT_MAX];
    FILE *out = picture->out;
    fputs("<title>", out);
    print_text(out, flame_text_bytes(flame, frame->name), 500);
    const char *percent = units_percentage(total, picture->widths[picture->type], part);
    fprintf(out, "%s\n%s (%s)", node->inlined ? " (inlined)" : "", units_label(total, picture->unit, "auto", value),
            percent + strspn(percent, " "));
    if (frame->file != 0) {
        fputs("\n", out);
        print_text(out, flame_text_bytes(flame, frame->file), 500);
        if (node->line_first != 0)
            fprintf(out, ":%" PRIu32, node->line_first);
        if (node->line_last != node->line_first)
            fprintf(out, "-%" PRIu32, node->line_last);
    }
    if (frame->module != 0) {
        fputs("\n", out);
        print_text(out, flame_text_bytes(flame, frame->module), 500);
    }
    fputs("</title>", out);
}

static void print_frame(const struct picture *picture, uint32_t node, double x, double y, double width) {
    const struct flame *flame = picture->flame;
    size_t at = node * flame->types + picture->type;
    fputs("<g>", picture->out);
    print_title(picture, node, picture->totals[at]);
    fprintf(picture->out, "<rect x=\"%.2f\" y=\"%.0f\" width=\"%.2f\" height=\"%.0f\" rx=\"1\" fill=\"", x, y,
            width > 1 ? width - 0.5 : width, ROW - 1);
    print_color(picture, node, picture->totals[at], picture->widths[at]);
    fprintf(picture->out, "\"/>");
    size_t letters = (size_t)((width - 6) / LETTER * (width > 6));
    if (letters >= 3) {
        fprintf(picture->out, "<text x=\"%.2f\" y=\"%.1f\"%s>", x + 3, y + ROW - 5.5,
                flame->nodes[node].inlined ? " font-style=\"italic\"" : "");
        print_text(picture->out, flame_text_bytes(flame, flame->frames[flame->nodes[node].frame].name), letters);
        fputs("</text>", picture->out);
    }
    fputs("</g>\n", picture->out);
}

/* Where each frame is: the children of one side by side above its left. Returns the height, with 0 without memory.
 * Frames too narrow are left out with all above them; `draw` off only measures. */
static double lay_out(const struct picture *picture, const struct flame_step *steps, bool draw) {
    const struct flame *flame = picture->flame;
    double *next = calloc(flame->nodes_count + 1, sizeof *next); /* where the next frame of that depth begins */
    int64_t all = picture->widths[picture->type];
    double height = ROW, scale = all > 0 ? (WIDTH - 2 * MARGIN) / (double)all : 0;
    uint32_t too_deep = UINT32_MAX; /* frames deeper than this are left out */
    if (!next)
        return 0;
    next[1] = MARGIN;
    for (size_t i = 1; i < flame->nodes_count; i++) {
        uint32_t depth = steps[i].depth;
        double width = scale * (double)picture->widths[steps[i].node * flame->types + picture->type];
        if (depth > too_deep)
            continue;
        too_deep = width < NARROWEST ? depth : UINT32_MAX;
        double x = next[depth];
        next[depth] += width;
        next[depth + 1] = x;
        if (width < NARROWEST)
            continue;
        if (depth * ROW > height)
            height = depth * ROW;
        if (draw)
            print_frame(picture, steps[i].node, x, TOP + (depth - 1) * ROW, width);
    }
    free(next);
    return height;
}

/* ---- The picture ---- */

static void print_head(const struct picture *picture, double height) {
    const ProfProfile *profile = picture->about->profile;
    const ProfValueType *type = profile->sample_type[picture->type];
    ProtobufCBinaryData name = profile_text(profile, type->type);
    char value[UNITS_TEXT_MAX];
    FILE *out = picture->out;
    fprintf(out,
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" width=\"%.0f\" height=\"%.0f\" "
            "font-family=\"ui-monospace,Menlo,Consolas,DejaVu Sans Mono,monospace\" font-size=\"11\" fill=\"#222\">\n"
            "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n<text x=\"%.0f\" y=\"18\" font-size=\"14\" "
            "font-weight=\"bold\">",
            WIDTH, height, WIDTH, height, MARGIN);
    print_text(out, bytes(picture->about->file), 90);
    fprintf(out, "</text>\n<text x=\"%.0f\" y=\"36\">", MARGIN);
    print_text(out, (struct flame_bytes){(const char *)name.data, name.len}, 60);
    fprintf(out, ": %s", units_label(picture->flame->sums[picture->type], picture->unit, "auto", value));
    if (picture->about->base) {
        fputs(", beside ", out);
        print_text(out, bytes(picture->about->base), 90);
    }
    fputs("</text>\n", out);
}

static char *unit_name(const ProfProfile *profile, size_t type) {
    ProtobufCBinaryData unit = profile_text(profile, profile->sample_type[type]->unit);
    return strndup((const char *)unit.data, unit.len);
}

int flame_print_svg(FILE *out, const struct flame *flame, const struct flame_about *about) {
    int64_t *totals = flame_totals(flame, true), *widths = flame_totals(flame, false);
    struct flame_step *steps = totals && widths ? flame_walk(flame, widths, about->type) : NULL;
    char *unit = unit_name(about->profile, about->type);
    struct picture picture = {out, flame, about, unit, totals, widths, about->type};
    double height = steps && unit ? lay_out(&picture, steps, false) : 0;
    if (height > 0) {
        print_head(&picture, TOP + height + MARGIN);
        height = lay_out(&picture, steps, true);
        fputs("</svg>\n", out);
    }
    free(unit);
    free(steps);
    free(totals);
    free(widths);
    return height > 0 ? 0 : -ENOMEM;
}
