/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/top_print.h"

#include "tools/units.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static const char *label(const struct report *report, int64_t value, char text[UNITS_TEXT_MAX]) {
    return units_label(value, report->unit, report->output, text);
}

static void print_text(const char *before, ProtobufCBinaryData text) {
    printf("%s%.*s\n", before, (int)text.len, (const char *)text.data);
}

static void print_profile(const ProfProfile *profile, const struct report *report, size_t type) {
    char text[UNITS_TEXT_MAX], more[UNITS_TEXT_MAX];
    ProtobufCBinaryData file = {0}, build_id = {0};
    if (profile->n_mapping > 0) {
        file = profile_text(profile, profile->mapping[0]->filename);
        build_id = profile_text(profile, profile->mapping[0]->build_id);
    }
    for (size_t i = file.len; i-- > 0;)
        if (file.data[i] == '/') {
            file.data += i + 1;
            file.len -= i + 1;
            break;
        }
    if (file.len > 0)
        print_text("File: ", file);
    if (build_id.len > 0)
        print_text("Build ID: ", build_id);
    for (size_t i = 0; i < profile->n_comment; i++) {
        ProtobufCBinaryData comment = profile_text(profile, profile->comment[i]);
        if (comment.len == 0 || comment.data[0] != '#')
            print_text("", comment);
    }
    print_text("Type: ", profile_text(profile, profile->sample_type[type]->type));
    if (profile->time_nanos != 0) {
        time_t seconds = (time_t)floor((double)profile->time_nanos / 1e9);
        struct tm local;
        if (localtime_r(&seconds, &local) &&
            strftime(text, sizeof text, "Time: %b %-d, %Y at %-I:%M%P (%Z)", &local) > 0)
            puts(text);
    }
    if (profile->duration_nanos != 0)
        printf("Duration: %s, Total samples = %s \n", units_label(profile->duration_nanos, "nanoseconds", "auto", text),
               label(report, report->total, more));
}

static void print_filters(const struct select *select) {
    bool any = false;
    for (size_t i = 0; i < SELECT_FILTERS; i++) {
        const char *text = select->filters[i].text;
        if (!text)
            continue;
        if (!any)
            puts("Active filters:");
        any = true;
        size_t name_len = strlen(select_filter_names[i]) + 1;
        printf("   %s=%.*s%s\n", select_filter_names[i], (int)(80 - name_len), text,
               name_len + strlen(text) > 80 ? "…" : "");
    }
}

static void print_summary(const struct report *report, double node_fraction) {
    char text[3][UNITS_TEXT_MAX];
    int64_t sum = 0;
    for (size_t i = 0; i < report->count; i++)
        sum += report->nodes[i].flat;
    const char *part = units_percentage(sum, report->total, text[0]);
    printf("Showing nodes accounting for %s, %s of %s total\n", label(report, sum, text[1]), part + strspn(part, " "),
           label(report, report->total, text[2]));
    if (report->total == 0)
        return;
    if (report->dropped > 0)
        printf("Dropped %zu node%s (cum <= %s)\n", report->dropped, report->dropped > 1 ? "s" : "",
               label(report, (int64_t)((double)report->total * node_fraction), text[0]));
    if (report->count > 0 && report->count < report->candidates)
        printf("Showing top %zu nodes out of %zu\n", report->count, report->candidates);
}

static void print_nodes(const struct report *report) {
    char text[5][UNITS_TEXT_MAX];
    int64_t sum = 0;
    printf("%10s %5s%% %5s%% %10s %5s%%\n", "flat", "flat", "sum", "cum", "cum");
    for (size_t i = 0; i < report->count; i++) {
        const struct report_node *node = &report->nodes[i];
        sum += node->flat;
        printf("%10s %s %s %10s %s  %s%s\n", label(report, node->flat, text[0]),
               units_percentage(node->flat, report->total, text[1]), units_percentage(sum, report->total, text[2]),
               label(report, node->cum, text[3]), units_percentage(node->cum, report->total, text[4]), node->name,
               !node->inlined      ? ""
               : node->not_inlined ? " (partial-inline)"
                                   : " (inline)");
    }
}

void top_print(const ProfProfile *profile, const struct report *report, const struct report_options *options,
               const struct select *select) {
    print_profile(profile, report, options->type);
    print_filters(select);
    print_summary(report, options->node_fraction);
    print_nodes(report);
}
