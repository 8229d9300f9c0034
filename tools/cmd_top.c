/* SPDX-License-Identifier: Apache-2.0 */
/* cprof top: which functions own most, as `go tool pprof -top` tells it. */
#include "tools/live_top.h"
#include "tools/report.h"
#include "tools/select.h"
#include "tools/tool.h"
#include "tools/top_print.h"
#include "tools/units.h"

#include "proto/reader.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>

struct top {
    struct select select;
    struct report_options report;
    struct live_top_options live;
    const char *order_option, *row_option; /* that said what rows there are, and in which order */
};

/* ---- The command line ---- */

enum {
    OPTION_CUM = TOOL_LONG,
    OPTION_FLAT,
    OPTION_NODE_FRACTION,
    OPTION_EDGE_FRACTION,
    OPTION_FUNCTIONS,
    OPTION_LINES,
    OPTION_FILES,
    OPTION_NO_INLINES,
    OPTION_UNIT,
};

static const struct tool_option options[] = {
    SELECT_OPTIONS,
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
    {.help = "Other:"},
    {OPTION_UNIT, "unit", "UNIT", "B, kB, MB, GB...; auto: each value its own; one that suits all if not given"},
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

/* One option; false if its argument is wrong. */
static bool set_option(struct top *top, int option) {
    switch (option) {
    case LIVE_ONCE:
    case LIVE_INTERVAL:
    case LIVE_SORT:
        return live_top_option(&top->live, option);
    case OPTION_CUM:
    case OPTION_FLAT:
        top->report.by_cum = option == OPTION_CUM;
        return tool_choose(&top->order_option, option == OPTION_CUM ? "-cum" : "-flat");
    case 'n':
        return parse_count(optarg, &top->report.count);
    case OPTION_NODE_FRACTION:
        return parse_fraction(optarg, &top->report.node_fraction);
    case OPTION_EDGE_FRACTION:
        return parse_fraction(optarg, &top->report.edge_fraction);
    case OPTION_FUNCTIONS:
        top->report.granularity = REPORT_FUNCTIONS;
        return tool_choose(&top->row_option, "-functions");
    case OPTION_LINES:
        top->report.granularity = REPORT_LINES;
        return tool_choose(&top->row_option, "-lines");
    case OPTION_FILES:
        top->report.granularity = REPORT_FILES;
        return tool_choose(&top->row_option, "-files");
    case OPTION_NO_INLINES:
        top->report.no_inlines = true;
        return true;
    case OPTION_UNIT:
        top->report.unit = optarg;
        if (units_is_known(optarg))
            return true;
        tool_error(optarg, "not a unit; B, kB, MB, GB, TB, PB and auto are");
        return false;
    default:
        return select_option(&top->select, option);
    }
}

/* ---- The report ---- */

/* The total that parts are parts of: also of what is left out by its names. */
struct whole {
    struct top *top;
    const char *file;
    int type;
    int64_t total;
    size_t samples;
    bool allocated; /* its alloc_space is not 0 */
};

static void measure(void *ctx, const ProfProfile *profile) {
    struct whole *whole = ctx;
    int allocated = profile_sample_type(profile, "alloc_space");
    whole->samples = profile->n_sample;
    whole->allocated = allocated >= 0 && report_total(profile, (size_t)allocated) != 0;
    whole->type = select_type(&whole->top->select, profile, whole->file);
    if (whole->type >= 0)
        whole->total = report_total(profile, (size_t)whole->type);
}

/* Why a table has no rows, where that isn't plain to see. */
static void explain_empty(const struct whole *whole, const ProfProfile *profile) {
    ProtobufCBinaryData type = profile_text(profile, profile->sample_type[whole->type]->type);
    if (whole->total != 0 || whole->top->select.base)
        return;
    if (whole->samples == 0)
        tool_error(whole->file, "holds no sample%s",
                   profile->period > 1 ? "; CPROF_RATE=1 records every allocation" : "");
    else if (whole->allocated && type.len > 5 && memcmp(type.data, "inuse", 5) == 0)
        tool_error(whole->file, "nothing is in use; -alloc_space shows what was allocated");
}

static int print_files(struct top *top, char **files, int count) {
    struct whole whole = {.top = top, .file = files[0]};
    struct report report;
    int code;
    ProfProfile *profile = select_load(&top->select, files, count, measure, &whole, &code);
    if (!profile)
        return code;
    if (whole.type >= 0) {
        top->report.type = (size_t)whole.type;
        if (report_init(&report, profile, &top->report, whole.total) == 0) {
            top_print(profile, &report, &top->report, &top->select);
            explain_empty(&whole, profile);
        } else {
            tool_error(files[0], "out of memory");
            code = EXIT_SYSTEM;
        }
        report_release(&report);
    } else {
        code = EXIT_INPUT;
    }
    profile_free(profile);
    return code;
}

/* A process instead of files; of the options for those the ones that have a meaning for it are heeded. */
static int show_process(struct top *top, pid_t pid) {
    struct live_top_options live = top->live;
    if (top->select.type && !live_parse_type(top->select.type, &live.type)) {
        tool_error(top->select.type, "not a sample type of a process");
        return tool_usage("top");
    }
    live.by_cum = top->report.by_cum;
    live.count = top->report.count;
    live.names = !top->select.leave_names;
    return live_top(pid, &live);
}

static int run(int argc, char **argv) {
    pid_t pid;
    struct top top = {
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
    select_release(&top.select);
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
