/* SPDX-License-Identifier: Apache-2.0 */
/* cprof run: run a program under the profiler. */
#include "tools/doctor.h"
#include "tools/doctor_settings.h"
#include "tools/explain.h"
#include "tools/run_child.h"
#include "tools/run_output.h"
#include "tools/run_progress.h"
#include "tools/run_report.h"
#include "tools/run_serve.h"
#include "tools/tool.h"

#include "preload/intercept/accepts.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    OPTION_PEAK = TOOL_LONG,
    OPTION_INTERVAL,
    OPTION_ONLY,
    OPTION_NO_SYMBOLIZE,
    OPTION_DEPTH,
    OPTION_EXPLAIN,
    OPTION_PROGRESS,
    OPTION_SERVE,
    OPTION_ALLOW_REMOTE
};

static const struct tool_option options[] = {
    {'r', "rate", "BYTES", "mean bytes allocated between samples; suffix K, M, G, T; 1 records everything; 512K"},
    {'o', "output", "OUT",
     "the profile's name. %p stands for the process's number, %e for the executable's name, %n for the number of the "
     "dump, "
     "%h for the host, %t for the time of the start; cprof.%e.%p.pb.gz. A directory stands for that name in it"},
    {OPTION_PEAK, "peak", NULL, "also keep what was in use when most was, as ….peak.pb.gz"},
    {OPTION_INTERVAL, "interval", "TIME", "also write a profile every so often: 30s, 5m, 1h"},
    {OPTION_ONLY, "only", "PATTERN",
     "of the processes that the program starts, only profile those whose names match; several are separated by commas"},
    {OPTION_DEPTH, "depth", "N", "most frames that are kept of a stack, 1 to 1024; 128"},
    {OPTION_NO_SYMBOLIZE, "no-symbolize", NULL, "leave addresses in the profile"},
    {OPTION_PROGRESS, "progress", NULL,
     "while it runs, keep a line on standard error, if that is a terminal, that says how much it has allocated and has "
     "in use"},
    {OPTION_SERVE, "serve", "ADDRESS:PORT",
     "while it runs, and while processes that it started do, answer there as `cprof serve` does: say "
     "127.0.0.1:6060. Port 0 is any that is free"},
    {OPTION_ALLOW_REMOTE, "allow-remote", NULL,
     "let that be an address that other machines can reach: whoever can connect may then read the profiles and command "
     "lines"},
    {'q', "quiet", NULL, "say nothing at the end"},
    {OPTION_EXPLAIN, "explain", NULL, "run nothing; say whether the program can be profiled, as `cprof doctor` does"},
    {0},
};

#define VARIABLES_MAX 12u

struct run {
    char *variables[VARIABLES_MAX + 1]; /* for the program's environment */
    size_t variable_count;
    const char *output;
    bool quiet;
    bool progress;
    bool symbolize;
    bool explain;
    struct run_serve serve;
};

static void set(struct run *run, const char *name, const char *value) {
    char *text;
    size_t len = strlen(name), i = 0;
    if (asprintf(&text, "%s=%s", name, value) < 0)
        return;
    /* The last of several counts. */
    while (i < run->variable_count && (strncmp(run->variables[i], name, len) != 0 || run->variables[i][len] != '='))
        i++;
    run->variable_count += i == run->variable_count;
    free(run->variables[i]);
    run->variables[i] = text;
}

static bool is_number(const char *text, uint64_t least, uint64_t most) {
    uint64_t value;
    return tool_parse_bytes(text, &value) && value >= least && value <= most;
}

static bool is_time(const char *text) {
    static const char *const units[] = {"", "ms", "s", "m", "h"};
    size_t digits = strspn(text, "0123456789");
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
        if (strcmp(text + digits, units[i]) == 0)
            return digits > 0 && digits < 10;
    return false;
}

static bool is_text(const char *text) {
    return text[0] != '\0' && strlen(text) < 4096;
}

/* A setting of the library's, which reads the same once more, and tells what it can't read where nobody may see it. */
static bool set_checked(struct run *run, const char *option, const char *name, bool good, const char *accepts) {
    if (good)
        set(run, name, optarg);
    else
        tool_error(option, "'%.100s' can't be read: give %s", optarg, accepts);
    return good;
}

/* False if its argument can't be read, which has been said. */
static bool set_option(struct run *run, int option) {
    switch (option) {
    case 'r':
        return set_checked(run, "--rate", "CPROF_RATE", is_number(optarg, 0, UINT64_C(1) << 40), ACCEPTS_RATE);
    case 'o':
        run->output = optarg;
        return set_checked(run, "--output", "CPROF_OUT", is_text(optarg), ACCEPTS_OUT);
    case OPTION_PEAK:
        set(run, "CPROF_PEAK", "1");
        return true;
    case OPTION_INTERVAL:
        return set_checked(run, "--interval", "CPROF_INTERVAL", is_time(optarg), ACCEPTS_INTERVAL);
    case OPTION_ONLY:
        return set_checked(run, "--only", "CPROF_ONLY", is_text(optarg), ACCEPTS_ONLY);
    case OPTION_DEPTH:
        return set_checked(run, "--depth", "CPROF_DEPTH",
                           optarg[strspn(optarg, "0123456789")] == '\0' && is_number(optarg, 1, 1024), ACCEPTS_DEPTH);
    case OPTION_NO_SYMBOLIZE:
        set(run, "CPROF_SYMBOLIZE", "off");
        run->symbolize = false;
        return true;
    case OPTION_PROGRESS:
        return run->progress = true;
    case OPTION_SERVE:
        run->serve.address = optarg;
        return true;
    case OPTION_ALLOW_REMOTE:
        return run->serve.remote = true;
    case OPTION_EXPLAIN:
        return run->explain = true;
    default:
        return run->quiet = true;
    }
}

static bool is_preloaded(const char *list, const char *library) {
    size_t len = strlen(library);
    for (const char *at = list; *at; at += strspn(at, ": ")) {
        size_t one = strcspn(at, ": ");
        if (one == len && memcmp(at, library, len) == 0)
            return true;
        at += one;
    }
    return false;
}

/* In front of what is preloaded already, as of two allocators the first is the one that is called. */
static int set_preload(struct run *run) {
    char library[PATH_MAX], reason[EXPLAIN_REASON_MAX], *list;
    const char *before = getenv("LD_PRELOAD");
    if (!explain_library(library, reason)) {
        tool_error(library, "%s", reason);
        return EXIT_RUN_FAILED;
    }
    bool there = before && is_preloaded(before, library);
    if (asprintf(&list, "%s%s%s", there ? "" : library, before && before[0] && !there ? ":" : "",
                 before ? before : "") < 0)
        return EXIT_RUN_FAILED;
    set(run, "LD_PRELOAD", list);
    free(list);
    return EXIT_OK;
}

/* In this environment as well, for what looks at settings before the program does. */
static void apply_settings(const struct run *run) {
    for (size_t i = 0; i < run->variable_count; i++) {
        char *value = strchr(run->variables[i], '='),
             *name = strndup(run->variables[i], (size_t)(value - run->variables[i]));
        if (name)
            setenv(name, value + 1, 1);
        free(name);
    }
}

/* A program that can't be profiled is not run: its user would wait for nothing. One that settings exclude is, as they
 * may be for those that it starts; that is remembered. */
static int examine(const char *name, struct run_report *report) {
    char reason[EXPLAIN_REASON_MAX];
    struct explanation *e = calloc(1, sizeof *e);
    if (!e)
        return EXIT_OK;
    explain_program(e, name);
    int code = e->verdict == EXPLAIN_FINE      ? EXIT_OK
               : e->verdict == EXPLAIN_MISSING ? EXIT_RUN_MISSING
               : e->verdict == EXPLAIN_CANNOT  ? EXIT_RUN_CANNOT
                                               : EXIT_RUN_FAILED;
    if (code != EXIT_OK)
        tool_error(name, e->verdict == EXPLAIN_UNSEEN ? "can't be profiled: %s" : "%s", e->reason);
    else if (e->elf.malloc_exported)
        tool_error(name, "defines malloc itself; what that serves is not seen");
    if (code == EXIT_OK && doctor_settings_obstacle(e, reason))
        report->obstacle = strdup(reason);
    free(e);
    return code;
}

struct starting {
    struct run *run;
    struct run_report *report;
};

static void on_fork(void *ctx, const struct run_child *child) {
    struct starting *starting = ctx;
    starting->report->since_ticks = child->start_ticks;
    if (starting->run->serve.address)
        run_serve_start(&starting->run->serve, starting->report, child);
}

/* For free(); NULL, after a message, if no profile could be written. */
static char *output_template(const struct run *run) {
    return run->output ? run_output_template("--output", run->output)
                       : run_output_template("CPROF_OUT", getenv("CPROF_OUT"));
}

static bool prepare_report(struct run *run, struct run_report *report) {
    char *template = output_template(run);
    if (!template)
        return false;
    set(run, "CPROF_OUT", template);
    bool good = run_report_init(report, template);
    if (!good)
        tool_error("run", "out of memory");
    free(template);
    return good;
}

static int run_program(struct run *run, char **argv) {
    struct run_report report;
    struct run_child child;
    if (!prepare_report(run, &report))
        return EXIT_RUN_FAILED;
    apply_settings(run);
    int code = examine(argv[0], &report);
    if (code == EXIT_OK)
        code = set_preload(run);
    if (code == EXIT_OK && run->serve.address && !run_serve_listen(&run->serve))
        code = EXIT_RUN_FAILED;
    if (code != EXIT_OK) {
        run_report_release(&report);
        return code;
    }
    bool progress = run->progress && isatty(STDERR_FILENO);
    struct starting starting = {run, &report};
    struct run_child_how how = {.silent = run->quiet && !progress, .forked = on_fork, .ctx = &starting};
    int rc = run_child_start(&child, argv, run->variables, &how);
    if (rc == 0)
        run_child_wait(&child, progress ? run_progress : NULL);
    if (progress)
        run_progress_end();
    if (rc != 0 || child.exec_error != 0) {
        tool_error(argv[0], "%s", strerror(rc != 0 ? -rc : child.exec_error));
        run_serve_end(&run->serve, false);
        run_report_release(&report);
        return rc != 0 ? EXIT_RUN_FAILED : child.exec_error == ENOENT ? EXIT_RUN_MISSING : EXIT_RUN_CANNOT;
    }
    run_report_recover(&report, run->symbolize);
    if (run->serve.address && report.running == 0) {
        /* One that is just executing another program has no segment: the server must not end under it. */
        usleep(20000);
        run_report_recover(&report, run->symbolize);
    }
    run_serve_end(&run->serve, report.running > 0);
    if (!run->quiet)
        run_report_print(&report);
    if (!run->quiet && run->serve.address && report.running > 0)
        fprintf(stderr, "cprof: http://%s/ serves until they end\n", run->serve.server.host.text);
    run_report_release(&report);
    return run_child_end_like(&child);
}

/* False when the command is to return *code. */
static bool parse(struct run *run, int argc, char **argv, int *code) {
    int option;
    while ((option = tool_next_option(&command_run, argc, argv, code)) > 0) {
        if (!set_option(run, option)) {
            tool_usage("run");
            *code = EXIT_RUN_FAILED;
            return false;
        }
    }
    if (option < 0 && *code != EXIT_OK)
        *code = EXIT_RUN_FAILED;
    if (option < 0)
        return false;
    if (run->serve.remote && !run->serve.address) {
        tool_error("--allow-remote", "of what? --serve says where to listen");
        tool_usage("run");
        *code = EXIT_RUN_FAILED;
        return false;
    }
    if (optind < argc)
        return true;
    tool_error("run", "no program is given");
    tool_usage("run");
    *code = EXIT_RUN_FAILED;
    return false;
}

static int explain(struct run *run, const char *program) {
    char *template = output_template(run);
    if (!template)
        return EXIT_RUN_FAILED;
    free(template);
    apply_settings(run);
    return doctor_examine(program);
}

static int run(int argc, char **argv) {
    struct run run = {.symbolize = true};
    int code;
    if (parse(&run, argc, argv, &code))
        code = run.explain ? explain(&run, argv[optind]) : run_program(&run, argv + optind);
    for (size_t i = 0; i < run.variable_count; i++)
        free(run.variables[i]);
    return code;
}

const struct tool_command command_run = {
    .name = "run",
    .summary = "run a program under the profiler",
    .usage = "[OPTION]... [--] PROGRAM [ARGUMENT]...",
    .operand = "PROGRAM",
    .about = "Run a program, and those that it starts, with libcprof.so, and say at the end which profiles there are. "
             "Processes that were killed have theirs as well. Signals are passed on; standard streams, terminal and "
             "exit status are the program's. With --serve its profile can be looked at while it "
             "runs, and those of the processes that it starts; Ctrl-C goes to the program.",
    .options = options,
    .notes = "If cprof run itself is killed by SIGKILL the program goes on, and so does its server; `cprof recover` "
             "then makes the profiles of what is killed later.\n\n"
             "Other settings are taken from the environment (CPROF_...). Without a %p, OUT is the profile of PROGRAM, "
             "or of the "
             "last program that it becomes by exec, as of env or nice; those that it starts, as timeout does, have "
             "their number "
             "put in. A program that can't be profiled is not run: one "
             "that is linked statically, has more rights than its caller, or is of another architecture.",
    .exits = "that of the program, or its signal; 125 cprof failed or the program can't be profiled, 126 it can't be "
             "executed, 127 it was not found.",
    .examples = (const char *const[]){"cprof run ./server --port 8080", "cprof run --rate 1 -o out.pb.gz -- ls -l",
                                      "cprof run --serve 127.0.0.1:6060 ./server --port 8080", NULL},
    .options_first = true,
    .run = run,
};
