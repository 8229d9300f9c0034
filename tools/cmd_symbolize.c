/* SPDX-License-Identifier: Apache-2.0 */
/* cprof symbolize: put names, files and lines into a profile, so that it can be read anywhere. */
#include "tools/load.h"
#include "tools/symbolize.h"
#include "tools/tool.h"

#include "proto/reader.h"

#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { OPTION_DEMANGLE = TOOL_LONG, OPTION_TIMEOUT };

static const struct tool_option options[] = {
    {'o', "output", "OUT", "write to OUT instead; - is standard output"},
    {OPTION_DEMANGLE, "demangle", "simple|templates|full|none",
     "how C++ and Rust names are shown, those that FILE has already too; simple, as pprof does, if not given"},
    {OPTION_TIMEOUT, "timeout", "SECONDS", "leave out what is not done by then"},
    {'q', "quiet", NULL, "say nothing of files that can't be read or are another build"},
    {0},
};

struct job {
    const char *file;
    const char *output; /* NULL: the file itself */
    ProfProfile *profile;
    uint64_t saved_ns;  /* when it was begun, or saved last */
    struct stat status; /* the file's, as it was read or saved last */
};

static uint64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void print_note(void *ctx, const char *what, const char *path, const char *reason) {
    const struct job *job = ctx;
    fprintf(stderr, "cprof: %s: no %s from %s: %s\n", job->file, what, path, reason);
}

/* Names take their time, and a program that is run again writes its next profile to the same place meanwhile. */
static bool was_replaced(const struct job *job) {
    struct stat now;
    return !job->output && S_ISREG(job->status.st_mode) &&
           (stat(job->file, &now) != 0 || now.st_dev != job->status.st_dev || now.st_ino != job->status.st_ino ||
            now.st_mtim.tv_sec != job->status.st_mtim.tv_sec || now.st_mtim.tv_nsec != job->status.st_mtim.tv_nsec);
}

static int save(struct job *job) {
    sigset_t alarms, before;
    if (was_replaced(job)) {
        tool_error(job->file, "is another file by now; left as it is");
        return EXIT_OUTPUT;
    }
    sigemptyset(&alarms);
    sigaddset(&alarms, SIGALRM);
    sigprocmask(SIG_BLOCK, &alarms, &before);
    int code = save_profile(job->profile, job->output ? job->output : job->file);
    sigprocmask(SIG_SETMASK, &before, NULL);
    if (code == EXIT_OK && !job->output && stat(job->file, &job->status) != 0)
        job->status = (struct stat){0};
    return code;
}

/* What is there is kept, should the next file take more time than there is: it may if it is large, or if the ones
 * before it took long already. */
static void save_early(void *ctx, const struct symbolize_result *so_far, uint64_t next_size) {
    struct job *job = ctx;
    bool risky = next_size > (16u << 20) || now_ns() - job->saved_ns > 200000000u;
    if (!so_far->changed || !risky || (job->output && strcmp(job->output, "-") == 0))
        return;
    save(job);
    job->saved_ns = now_ns();
}

static const char *gave_up;

/* For a file server that never answers, or a file that takes too long in one piece: the profile stays as it was saved.
 */
static void give_up(int signal_number) {
    (void)signal_number;
    if (gave_up && write(STDERR_FILENO, gave_up, strlen(gave_up)) < 0)
        _exit(EXIT_SYSTEM);
    _exit(EXIT_SYSTEM);
}

static uint64_t deadline_after(unsigned seconds, bool quiet) {
    char text[16];
    if (!quiet)
        gave_up = "cprof: symbolize: gave up: a file did not answer in time\n";
    snprintf(text, sizeof text, "%u", seconds);
    setenv("DEBUGINFOD_MAXTIME", text, 1);
    setenv("DEBUGINFOD_TIMEOUT", text, 1);
    signal(SIGALRM, give_up);
    alarm(seconds + 5);
    return now_ns() + seconds * UINT64_C(1000000000);
}

static bool parse_seconds(const char *text, unsigned *seconds) {
    uint64_t value;
    if (text[strspn(text, "0123456789")] != '\0' || !tool_parse_bytes(text, &value) || value == 0 || value > 86400)
        return false;
    *seconds = (unsigned)value;
    return true;
}

static int symbolize(struct job *job, const struct symbolize_options *how) {
    struct symbolize_result result;
    int code;
    if (!job->output && stat(job->file, &job->status) != 0)
        job->status = (struct stat){0}; /* reading it will say what is wrong */
    job->profile = load_profile(job->file, &code);
    if (!job->profile)
        return code;
    job->saved_ns = now_ns();
    if (symbolize_profile(job->profile, how, &result) != 0) {
        tool_error(job->file, "out of memory");
        code = EXIT_SYSTEM;
    }
    alarm(0);
    if (code == EXIT_OK && result.out_of_time && how->note)
        tool_error(job->file, "out of time, so some names are missing");
    /* Nothing new: the file is as it should be already. */
    if (code == EXIT_OK && (result.changed || job->output))
        code = save(job);
    profile_free(job->profile);
    return code;
}

static int run(int argc, char **argv) {
    /* A program that ends has its own profile's names looked up, and waits: it is the parent then, or shares its
     * memory. */
    struct symbolize_options how = {.style = DEMANGLE_SIMPLE, .process = getppid(), .note = print_note};
    struct job job = {0};
    unsigned seconds = 0;
    int option, code;

    while ((option = tool_next_option(&command_symbolize, argc, argv, &code)) > 0) {
        if (option == 'o') {
            job.output = optarg;
        } else if (option == 'q') {
            how.note = NULL;
        } else if (option == OPTION_DEMANGLE) {
            how.restyle = true;
            if (!demangle_parse_style(optarg, &how.style)) {
                tool_error(optarg, "not a style; simple, templates, full and none are");
                return tool_usage("symbolize");
            }
        } else if (option == OPTION_TIMEOUT && !parse_seconds(optarg, &seconds)) {
            tool_error(optarg, "not a number of seconds from 1 to 86400");
            return tool_usage("symbolize");
        }
    }
    if (option < 0)
        return code;
    if (optind + 1 != argc) {
        tool_error("symbolize", optind == argc ? "no file is given" : "one file at a time");
        return tool_usage("symbolize");
    }
    job.file = argv[optind];
    if (strcmp(job.file, "-") == 0 && !job.output)
        job.output = "-";
    setenv("DEBUGINFOD_MAXTIME", "60", 0);
    if (seconds > 0) {
        how.deadline_ns = deadline_after(seconds, !how.note);
        how.checkpoint = save_early;
    }
    how.ctx = &job;
    return symbolize(&job, &how);
}

const struct tool_command command_symbolize = {
    .name = "symbolize",
    .summary = "put names, files and lines into a profile",
    .usage = "[OPTION]... FILE",
    .operand = "FILE",
    .about = "Add function names, source files and lines to a profile, inlined functions told apart, so that it can be "
             "read where the programs it is of are not at hand. FILE is rewritten in one step, or stays as it is.",
    .options = options,
    .notes =
        "Names come from the files that were mapped, by path; they and their debug files also by build id, from "
        "/usr/lib/debug and, if DEBUGINFOD_URLS is set, from there (for at most 60 seconds a file, or as "
        "DEBUGINFOD_MAXTIME says). A file that is not the build that was profiled is not believed, and of one with "
        "compressed debug information that would be more than 1 GiB the symbol table alone is read. A function "
        "without a name is called [FILE+0xOFFSET], code that was in no file [jit]. Doing it again does no harm and "
        "can add what was missing.",
    .exits = "0 done, 2 usage, 3 FILE can't be read, 4 the result can't be written, 5 no memory or time.",
    .examples = (const char *const[]){"cprof symbolize cprof.server.4711.pb.gz", NULL},
    .run = run,
};
