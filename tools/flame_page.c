/* SPDX-License-Identifier: Apache-2.0 */
/* The page: the parts of tools/flame/ put together (rules.mk), with the profile in its place, as JSON.
 *
 * Everything that comes from the profile is somebody else's text. It stands in one JSON document, in which no < > & is
 * written as such, and in the title, where these are entities; the page itself makes no markup of it. */
#include "tools/flame.h"

#include "tools/json.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* What the linker made of the file. */
extern const char _binary_flame_html_start[], _binary_flame_html_end[];

/* ---- JSON ---- */

static void print_text(FILE *out, const char *key, const char *text) {
    fprintf(out, ",\"%s\":", key);
    json_print_string(out, text ? text : "", text ? strlen(text) : 0);
}

static void print_index(FILE *out, const char *key, const ProfProfile *profile, int64_t index) {
    ProtobufCBinaryData text = profile_text(profile, index);
    fprintf(out, ",\"%s\":", key);
    json_print_string(out, text.data, text.len);
}

static void print_types(FILE *out, const struct flame *flame, const ProfProfile *profile) {
    for (size_t t = 0; t < flame->types; t++) {
        const ProfValueType *type = profile->sample_type[t];
        /* Sums as texts: numbers in JavaScript are exact up to 2^53 only. */
        fprintf(out, "%s{\"sum\":\"%" PRId64 "\"", t > 0 ? "," : "", flame->sums[t]);
        print_index(out, "name", profile, type->type);
        print_index(out, "unit", profile, type->unit);
        putc('}', out);
    }
}

static void print_about(FILE *out, const struct flame *flame, const struct flame_about *about) {
    const ProfProfile *profile = about->profile;
    fprintf(out, "{\"version\":1");
    print_text(out, "cprof", CPROF_VERSION);
    print_text(out, "file", about->file);
    print_text(out, "base", about->base);
    print_index(out, "program", profile, profile->n_mapping > 0 ? profile->mapping[0]->filename : 0);
    print_index(out, "buildId", profile, profile->n_mapping > 0 ? profile->mapping[0]->build_id : 0);
    fprintf(out, ",\"time\":\"%" PRId64 "\",\"duration\":\"%" PRId64 "\",\"period\":\"%" PRId64 "\"",
            profile->time_nanos, profile->duration_nanos, profile->period);
    print_index(out, "periodUnit", profile, profile->period_type ? profile->period_type->unit : 0);
    fprintf(out, ",\"samples\":%zu,\"comments\":[", profile->n_sample);
    for (size_t i = 0; i < profile->n_comment; i++) {
        ProtobufCBinaryData comment = profile_text(profile, profile->comment[i]);
        fputs(i > 0 ? "," : "", out);
        json_print_string(out, comment.data, comment.len);
    }
    fprintf(out, "],\"notes\":[");
    for (size_t i = 0; about->notes && about->notes[i]; i++) {
        fputs(i > 0 ? "," : "", out);
        json_print_string(out, about->notes[i], strlen(about->notes[i]));
    }
    fprintf(out, "],\"types\":[");
    print_types(out, flame, profile);
    fprintf(out, "],\"type\":%zu", about->type);
}

static void print_frames(FILE *out, const struct flame *flame) {
    fprintf(out, ",\n\"texts\":[");
    for (size_t i = 0; i < flame->texts_count; i++) {
        struct flame_bytes text = flame_text_bytes(flame, (flame_text)i);
        fputs(i > 0 ? "," : "", out);
        json_print_string(out, text.at, text.len);
    }
    fprintf(out, "],\n\"frames\":["); /* name, file and module of one after the other */
    for (size_t i = 0; i < flame->frames_count; i++)
        fprintf(out, "%s%" PRIu32 ",%" PRIu32 ",%" PRIu32, i > 0 ? "," : "", flame->frames[i].name,
                flame->frames[i].file, flame->frames[i].module);
}

/* The tree, without node 0 but in its own values: nodes in order, each followed by those it called, by how much deeper
 * each is than the one before. */
static void print_nodes(FILE *out, const struct flame *flame, const struct flame_step *steps) {
    fprintf(out, "],\n\"deeper\":[");
    for (size_t i = 1; i < flame->nodes_count; i++)
        fprintf(out, "%s%" PRId64, i > 1 ? "," : "", (int64_t)steps[i].depth - (int64_t)steps[i - 1].depth);
    fprintf(out, "],\n\"frame\":[");
    for (size_t i = 1; i < flame->nodes_count; i++)
        fprintf(out, "%s%" PRIu32, i > 1 ? "," : "", flame->nodes[steps[i].node].frame);
    fprintf(out, "],\n\"line\":[");
    for (size_t i = 1; i < flame->nodes_count; i++)
        fprintf(out, "%s%" PRIu32, i > 1 ? "," : "", flame->nodes[steps[i].node].line_first);
    fprintf(out, "],\n\"more\":["); /* further lines, doubled, and 1 if inlined */
    for (size_t i = 1; i < flame->nodes_count; i++) {
        const struct flame_node *node = &flame->nodes[steps[i].node];
        fprintf(out, "%s%" PRIu64, i > 1 ? "," : "",
                2 * (uint64_t)(node->line_last - node->line_first) + node->inlined);
    }
    fprintf(out, "],\n\"own\":[");
    for (size_t t = 0; t < flame->types; t++) {
        fputs(t > 0 ? ",\n[" : "[", out);
        for (size_t i = 0; i < flame->nodes_count; i++)
            fprintf(out, "%s%" PRId64, i > 0 ? "," : "", flame->own[steps[i].node * flame->types + t]);
        putc(']', out);
    }
    fprintf(out, "]}\n");
}

/* ---- The page ---- */

static void print_html(FILE *out, const char *text) {
    for (; *text; text++)
        if (strchr("<>&\"'", *text))
            fprintf(out, "&#%d;", *text);
        else
            putc((unsigned char)*text, out);
}

/* Prints the page up to a mark and returns what is behind it. */
static const char *print_up_to(FILE *out, const char *at, const char *end, const char *mark) {
    const char *found = memmem(at, (size_t)(end - at), mark, strlen(mark));
    fwrite(at, 1, (size_t)((found ? found : end) - at), out);
    return found ? found + strlen(mark) : end;
}

int flame_print_data(FILE *out, const struct flame *flame, const struct flame_about *about) {
    int64_t *totals = flame_totals(flame, false);
    struct flame_step *steps = totals && flame->types > 0 ? flame_walk(flame, totals, about->type) : NULL;
    bool good = steps != NULL;
    if (good) {
        print_about(out, flame, about);
        print_frames(out, flame);
        print_nodes(out, flame, steps);
    }
    free(steps);
    free(totals);
    return good ? 0 : -ENOMEM;
}

int flame_print_page(FILE *out, const struct flame *flame, const struct flame_about *about) {
    const char *at = _binary_flame_html_start, *end = _binary_flame_html_end;
    const char *slash = strrchr(about->file, '/');
    at = print_up_to(out, at, end, "{{title}}");
    print_html(out, slash && slash[1] ? slash + 1 : about->file);
    at = print_up_to(out, at, end, "{{profile}}");
    int rc = flame_print_data(out, flame, about);
    if (rc == 0)
        print_up_to(out, at, end, "{{end}}");
    return rc;
}
