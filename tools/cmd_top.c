/* SPDX-License-Identifier: Apache-2.0 */
/* cprof top: which functions own most, as `go tool pprof -top` tells it. */
#include "tools/filter.h"
#include "tools/live_top.h"
#include "tools/load.h"
#include "tools/merge.h"
#include "tools/report.h"
#include "tools/symbolize.h"
#include "tools/tool.h"
#include "tools/units.h"

#include "proto/reader.h"

#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct filter_option {
    const char *name; /* for messages */
    const char *text; /* NULL: not given */
    bool compiled;
    struct pattern pattern;
};

enum { FOCUS, IGNORE, HIDE, SHOW, FILTERS };

struct top {
    const char *type; /* NULL: the profile's default */
    const char *base;
    bool symbolize;
    struct filter_option filters[FILTERS];
    struct report_options report;
    struct live_top_options live;
};

/* ---- The command line ---- */

enum {
    OPTION_ALLOC_SPACE = TOOL_LONG,
    OPTION_ALLOC_OBJECTS,
    OPTION_INUSE_SPACE,
    OPTION_INUSE_OBJECTS,
    OPTION_SAMPLE_INDEX,
    OPTION_CUM,
    OPTION_FLAT,
    OPTION_NODE_FRACTION,
    OPTION_EDGE_FRACTION,
    OPTION_FUNCTIONS,
    OPTION_LINES,
    OPTION_FILES,
    OPTION_NO_INLINES,
    OPTION_BASE,
    OPTION_UNIT,
    OPTION_SYMBOLIZE,
    OPTION_FILTER, /* and the following: the filter's number is added */
};

static const struct tool_option options[] = {
    {.help = "What is counted; the profile's default, inuse_space, if not given:"},
    {OPTION_ALLOC_SPACE, "alloc_space", NULL, "bytes allocated"},
    {OPTION_ALLOC_OBJECTS, "alloc_objects", NULL, "blocks allocated"},
    {OPTION_INUSE_SPACE, "inuse_space", NULL, "bytes allocated and not freed"},
    {OPTION_INUSE_OBJECTS, "inuse_objects", NULL, "blocks allocated and not freed"},
    {OPTION_SAMPLE_INDEX, "sample_index", "TYPE", "a sample type by its name or number"},
    {.help = "Rows:"},
    {OPTION_CUM, "cum", NULL, "in the order of cum"},
    {OPTION_FLAT, "flat", NULL, "in the order of flat; this is so if not given"},
    {'n', "nodecount", "N", "only the first N; all that are large enough if not given"},
    {OPTION_NODE_FRACTION, "nodefraction", "F", "leave out what has a cum of less than this part of the total; 0.005"},
    {OPTION_EDGE_FRACTION, "edgefraction", "F",
     "calls that are less than this part of the total do not count in telling what was inlined; 0.001"},
    {OPTION_FUNCTIONS, "functions", NULL, "a row for each function; this is so if not given"},
    {OPTION_LINES, "lines", NULL, "a row for each line of each function"},
    {OPTION_FILES, "files", NULL, "a row for each source file"},
    {OPTION_NO_INLINES, "noinlines", NULL, "inlined functions count as what they were inlined into"},
    {.help = "Samples and frames, by names of functions, source files and binaries:"},
    {OPTION_FILTER + FOCUS, "focus", "REGEX", "only samples with a frame that matches"},
    {OPTION_FILTER + IGNORE, "ignore", "REGEX", "only samples without a frame that matches"},
    {OPTION_FILTER + HIDE, "hide", "REGEX", "no frames that match"},
    {OPTION_FILTER + SHOW, "show", "REGEX", "only frames that match"},
    {OPTION_BASE, "base", "OLD", "subtract the profile OLD: what shrank is negative"},
    {.help = "Other:"},
    {OPTION_UNIT, "unit", "UNIT", "B, kB, MB, GB...; auto: each value its own; one that suits all if not given"},
    {OPTION_SYMBOLIZE, "symbolize", "yes|no", "no: only names that are in the file; yes if not given"},
    LIVE_TOP_OPTIONS,
    {0},
};

static bool parse_fraction(const char *text, double *fraction) {
    char *end;
    double value = strtod(text, &end);
    if (end == text || *end != '\0' || !(value >= 0) || value > 1) {
        tool_error(text, "not a number from 0 to 1");
        return false;
    }
    *fraction = value;
    return true;
}

static bool parse_count(const char *text, size_t *count) {
    uint64_t value;
    if (text[strspn(text, "0123456789")] != '\0' || !tool_parse_bytes(text, &value) || value > UINT32_MAX) {
        tool_error(text, "not a number of rows");
        return false;
    }
    *count = (size_t)value;
    return true;
}

static bool set_filter(struct filter_option *filter, const char *text) {
    const char *reason;
    filter->text = text;
    if (filter->compiled)
        pattern_release(&filter->pattern);
    filter->compiled = pattern_init(&filter->pattern, text, strlen(text), false, &reason);
    if (!filter->compiled)
        tool_error(text, "not a regular expression that is understood: %s", reason);
    return filter->compiled;
}

static bool set_symbolize(struct top *top, const char *text) {
    top->symbolize = strcmp(text, "no") != 0 && strcmp(text, "none") != 0;
    if (!top->symbolize || strcmp(text, "yes") == 0 || strcmp(text, "local") == 0)
        return true;
    tool_error(text, "neither yes nor no");
    return false;
}

/* One option; false if its argument is wrong. */
static bool set_option(struct top *top, int option) {
    static const char *const types[] = {"alloc_space", "alloc_objects", "inuse_space", "inuse_objects"};
    switch (option) {
    case LIVE_ONCE:
    case LIVE_INTERVAL:
    case LIVE_SORT:
        return live_top_option(&top->live, option);
    case OPTION_ALLOC_SPACE:
    case OPTION_ALLOC_OBJECTS:
    case OPTION_INUSE_SPACE:
    case OPTION_INUSE_OBJECTS:
        top->type = types[option - OPTION_ALLOC_SPACE];
        return true;
    case OPTION_SAMPLE_INDEX:
        top->type = optarg;
        return true;
    case OPTION_CUM:
    case OPTION_FLAT:
        top->report.by_cum = option == OPTION_CUM;
        return true;
    case 'n':
        return parse_count(optarg, &top->report.count);
    case OPTION_NODE_FRACTION:
        return parse_fraction(optarg, &top->report.node_fraction);
    case OPTION_EDGE_FRACTION:
        return parse_fraction(optarg, &top->report.edge_fraction);
    case OPTION_FUNCTIONS:
    case OPTION_LINES:
    case OPTION_FILES:
        top->report.granularity = option == OPTION_LINES   ? REPORT_LINES
                                  : option == OPTION_FILES ? REPORT_FILES
                                                           : REPORT_FUNCTIONS;
        return true;
    case OPTION_NO_INLINES:
        top->report.no_inlines = true;
        return true;
    case OPTION_BASE:
        top->base = optarg;
        return true;
    case OPTION_UNIT:
        top->report.unit = optarg;
        return true;
    case OPTION_SYMBOLIZE:
        return set_symbolize(top, optarg);
    default:
        return option >= OPTION_FILTER && set_filter(&top->filters[option - OPTION_FILTER], optarg);
    }
}

/* ---- The profile ---- */

static ProfProfile *load_named(const struct top *top, const char *file, int *code) {
    static const struct symbolize_options how = {.style = DEMANGLE_SIMPLE};
    struct symbolize_result result;
    ProfProfile *profile = load_profile(file, code);
    if (profile && top->symbolize && symbolize_profile(profile, &how, &result) != 0) {
        tool_error(file, "out of memory");
        *code = EXIT_SYSTEM;
        profile_free(profile);
        return NULL;
    }
    return profile;
}

static int merge_file(const struct top *top, ProfProfile *profile, const char *file, bool subtract) {
    const char *reason;
    int code;
    ProfProfile *other = load_named(top, file, &code);
    if (!other)
        return code;
    int rc = subtract ? merge_subtract(profile, other, &reason) : merge_add(profile, other, &reason);
    profile_free(other);
    if (rc != 0)
        tool_error(file, "%s", rc == -EINVAL ? reason : "out of memory");
    return rc == 0 ? EXIT_OK : rc == -EINVAL ? EXIT_INPUT : EXIT_SYSTEM;
}

/* Index of the type that was asked for. -1 after a message. */
static int find_type(const ProfProfile *profile, const char *name, const char *file) {
    if (!name && profile->n_sample_type > 0) {
        for (size_t i = 0; profile->default_sample_type != 0 && i < profile->n_sample_type; i++)
            if (profile->sample_type[i]->type == profile->default_sample_type)
                return (int)i;
        return (int)profile->n_sample_type - 1;
    }
    int found = name ? profile_sample_type(profile, name) : -1;
    if (found < 0 && name && strncmp(name, "inuse_", 6) == 0)
        found = profile_sample_type(profile, name + 6);
    if (found < 0 && name && name[0] != '\0' && name[strspn(name, "0123456789")] == '\0' && strlen(name) < 5 &&
        (size_t)atoi(name) < profile->n_sample_type)
        found = atoi(name);
    if (found < 0)
        tool_error(file, "has no sample type %s", name ? name : "at all");
    return found;
}

/* Selects by name, and says what matched nothing. */
static int apply_filters(struct top *top, ProfProfile *profile) {
    const struct pattern *patterns[FILTERS];
    struct filter_matched matched;
    for (size_t i = 0; i < FILTERS; i++)
        patterns[i] = top->filters[i].compiled ? &top->filters[i].pattern : NULL;
    struct filter_names names = {patterns[FOCUS], patterns[IGNORE], patterns[HIDE], patterns[SHOW]};
    int rc = filter_names(profile, &names, &matched);
    const bool hit[FILTERS] = {matched.focus, matched.ignore, matched.hide, matched.show};
    for (size_t i = 0; rc == 0 && i < FILTERS; i++)
        if (patterns[i] && !hit[i])
            tool_error(top->filters[i].text, "%s matched nothing", top->filters[i].name);
    return rc;
}

/* ---- Printing ---- */

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

static void print_filters(const struct top *top) {
    bool any = false;
    for (size_t i = 0; i < FILTERS; i++)
        any |= top->filters[i].compiled;
    if (any)
        puts("Active filters:");
    for (size_t i = 0; i < FILTERS; i++)
        if (top->filters[i].compiled) {
            size_t len = strlen(top->filters[i].name) + 1 + strlen(top->filters[i].text);
            size_t room = 80 - strlen(top->filters[i].name) - 1;
            printf("   %s=%.*s%s\n", top->filters[i].name, (int)room, top->filters[i].text, len > 80 ? "…" : "");
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

static int print_report(struct top *top, ProfProfile *profile, const char *file) {
    struct report report;
    const char *reason;
    int type = find_type(profile, top->type, file);
    if (type < 0)
        return EXIT_INPUT;
    top->report.type = (size_t)type;
    int rc = filter_drop_frames(profile, &reason);
    /* pprof goes on as if there were none, and silently. */
    if (rc == -EINVAL)
        tool_error(file, "drop_frames is not used: %s", reason);
    int64_t total = report_total(profile, (size_t)type);
    if (rc != -ENOMEM)
        rc = apply_filters(top, profile);
    if (rc == 0) {
        rc = report_init(&report, profile, &top->report, total);
        if (rc == 0) {
            print_profile(profile, &report, (size_t)type);
            print_filters(top);
            print_summary(&report, top->report.node_fraction);
            print_nodes(&report);
        }
        report_release(&report);
    }
    if (rc != 0)
        tool_error(file, "out of memory");
    return rc == 0 ? EXIT_OK : EXIT_SYSTEM;
}

static bool has_negative(const ProfProfile *profile) {
    for (size_t i = 0; i < profile->n_sample; i++)
        for (size_t k = 0; k < profile->sample[i]->n_value; k++)
            if (profile->sample[i]->value[k] < 0)
                return true;
    return false;
}

static int print_files(struct top *top, char **files, int count) {
    int code;
    ProfProfile *profile = load_named(top, files[0], &code);
    for (int i = 1; profile && code == EXIT_OK && i < count; i++)
        code = merge_file(top, profile, files[i], false);
    if (profile && code == EXIT_OK && top->base)
        code = merge_file(top, profile, top->base, true);
    if (profile && code == EXIT_OK && !top->base && count == 1 && has_negative(profile) &&
        merge_samples(profile) != 0) {
        tool_error(files[0], "out of memory");
        code = EXIT_SYSTEM;
    }
    if (profile && code == EXIT_OK)
        code = print_report(top, profile, files[0]);
    profile_free(profile);
    return code;
}

/* A process instead of files; of the options for those the ones that have a meaning for it are heeded. */
static int show_process(struct top *top, pid_t pid) {
    struct live_top_options live = top->live;
    if (top->type && !live_parse_type(top->type, &live.type)) {
        tool_error(top->type, "not a sample type of a process");
        return tool_usage("top");
    }
    live.by_cum = top->report.by_cum;
    live.count = top->report.count;
    live.names = top->symbolize;
    return live_top(pid, &live);
}

static int run(int argc, char **argv) {
    pid_t pid;
    struct top top = {
        .symbolize = true,
        .filters = {{.name = "focus"}, {.name = "ignore"}, {.name = "hide"}, {.name = "show"}},
        .report = {.node_fraction = 0.005, .edge_fraction = 0.001, .unit = "minimum"},
        .live = LIVE_TOP_DEFAULT,
    };
    int code, option;
    while ((option = tool_next_option(&command_top, argc, argv, &code)) > 0)
        if (!set_option(&top, option)) {
            code = tool_usage("top");
            break;
        }
    if (option == 0 && optind == argc) {
        tool_error("top", "no file is given");
        code = tool_usage("top");
    } else if (option == 0 && optind + 1 == argc && live_top_is_process(argv[optind], &pid)) {
        code = show_process(&top, pid);
    } else if (option == 0) {
        code = print_files(&top, argv + optind, argc - optind);
    }
    for (size_t i = 0; i < FILTERS; i++)
        if (top.filters[i].compiled)
            pattern_release(&top.filters[i].pattern);
    return code;
}

const struct tool_command command_top = {
    .name = "top",
    .summary = "print the functions that own most",
    .usage = "[OPTION]... FILE...|PID",
    .operand = "FILE",
    .about =
        "Print the functions that own most, as 'go tool pprof -top' does: flat is what a function allocated "
        "itself, cum "
        "what it and all that it called did. Several files are added up. Names that a file lacks are looked up as "
        "by 'cprof symbolize'.\n\n"
        "Of a process that is being profiled, show the same as it is now, again and again, without disturbing it: q "
        "quits, s goes on to the next sample type, c changes between flat and cum, arrow and page keys scroll.",
    .options = options,
    .notes =
        "Regular expressions are those of pprof (RE2). FILE may be - for standard input. A number is a process unless "
        "a file is called so.",
    .exits =
        "0 done, 2 usage, 3 a file can't be read or lacks the type, 5 no memory, 6 there is no such process, or it is "
        "not profiled.",
    .examples = (const char *const[]){"cprof top -alloc_space cprof.server.4711.pb.gz",
                                      "cprof top -cum -n 20 -base before.pb.gz after.pb.gz", "cprof top 4711", NULL},
    .run = run,
};
