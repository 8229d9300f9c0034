/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/run_report.h"

#include "tools/recover.h"
#include "tools/run_line.h"
#include "tools/run_output.h"
#include "tools/segment_profile.h"
#include "tools/segment_totals.h"
#include "tools/segments.h"
#include "tools/tool.h"

#include <errno.h>
#include <fnmatch.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define MOST_LINES 10u

/* By the clock that stamps files, which is coarse: a time that no file has yet. Runs may follow each other within a few
 * milliseconds, and the one before is not to be taken for this one. */
static uint64_t new_stamp(void) {
    struct timespec first, now;
    clock_gettime(CLOCK_REALTIME_COARSE, &first);
    do {
        usleep(500);
        clock_gettime(CLOCK_REALTIME_COARSE, &now);
    } while (now.tv_sec == first.tv_sec && now.tv_nsec == first.tv_nsec);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static bool is_device(const char *path) {
    struct stat status;
    return stat(path, &status) == 0 && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode);
}

bool run_report_init(struct run_report *report, const char *template) {
    *report = (struct run_report){.since_ns = new_stamp()};
    report->pattern = run_output_pattern(template);
    report->to_device = is_device(template);
    return report->pattern != NULL;
}

void run_report_release(struct run_report *report) {
    free(report->pattern);
    free(report->unwritten_lines);
    free(report->unended);
    free(report->obstacle);
}

/* ---- Killed processes ---- */

struct cleaning {
    struct run_report *report;
    bool symbolize;
    uint64_t ended_mono_ns;
};

/* Whether it says where its profile goes, and is not older than the run; then *ours. */
static bool tells(const struct run_report *report, const struct segment_file *file, bool *ours) {
    char out[8192];
    if (file->unfinished || file->ticks < report->since_ticks || segment_out(file, out, sizeof out) == 0)
        return false;
    *ours = fnmatch(report->pattern, out, FNM_PATHNAME) == 0;
    return true;
}

bool run_report_is_ours(const struct run_report *report, const struct segment_file *file) {
    bool ours;
    return tells(report, file, &ours) && ours;
}

/* Kept for the end, as one pass may follow another. Nothing is said twice: neither what the process has said, nor of a
 * process that was several programs; and of those that hold nothing, as a script leaves many, one is enough. */
static void on_failure(void *ctx, const struct segment_file *file, const char *name, const char *reason) {
    struct run_report *report = ctx;
    bool empty = file->view.used[SEGMENT_BUCKETS] <= SEGMENT_BUCKET_FIRST;
    bool said = file->view.header.state == SEGMENT_FAILED || (empty && report->unwritten > 0);
    char *before = report->unwritten_lines, *lines, command[64];
    report->unwritten++;
    snprintf(command, sizeof command, "`cprof recover -o DIR %u`", file->pid);
    if (said || (before && strstr(before, command)))
        return;
    if (report->unwritten_told == MOST_LINES) {
        report->unwritten_more++;
    } else if (asprintf(&lines, "%scprof: %s: %s; the records are kept: %s makes the profile of them\n",
                        before ? before : "", name, reason, command) >= 0) {
        report->unwritten_told++;
        report->unwritten_lines = lines;
        free(before);
    }
}

/* Its profiles up to now are not of its end. */
static void note_unended(struct run_report *report, uint64_t start_ns) {
    uint64_t *more = realloc(report->unended, (report->unended_count + 1) * sizeof *more);
    if (!more)
        return;
    report->unended = more;
    more[report->unended_count++] = start_ns;
}

static bool is_unended(const struct run_report *report, uint64_t start_ns) {
    for (size_t i = 0; i < report->unended_count; i++)
        if (report->unended[i] == start_ns)
            return true;
    return false;
}

static int recover_if_ours(void *ctx, const char *path) {
    struct cleaning *cleaning = ctx;
    struct segment_file file;
    const char *reason;
    if (segment_open(&file, path, geteuid(), &reason) != 0)
        return 0;
    /* One that says nothing can't be told from others, nor need it be. */
    bool ours = false;
    if (!tells(cleaning->report, &file, &ours))
        ours = file.life == SEGMENT_DEAD && recover_is_empty(&file);
    bool ended = false;
    if (ours && file.life == SEGMENT_DEAD) {
        struct recover_options how = {.symbolize = cleaning->symbolize,
                                      .ended_mono_ns = cleaning->ended_mono_ns,
                                      .failed = on_failure,
                                      .ctx = cleaning->report};
        ended = recover_segment(&file, &how) == EXIT_OK;
    }
    if (ours && !ended)
        note_unended(cleaning->report, file.view.header.start_wall_ns);
    cleaning->report->running += ours && file.life == SEGMENT_ALIVE;
    segment_close(&file);
    return 0;
}

void run_report_recover(struct run_report *report, bool symbolize) {
    report->unended_count = 0;
    report->running = report->unwritten = report->unwritten_told = report->unwritten_more = 0;
    free(report->unwritten_lines);
    report->unwritten_lines = NULL;
    struct cleaning cleaning = {.report = report, .symbolize = symbolize, .ended_mono_ns = segment_now()};
    segments_each(geteuid(), recover_if_ours, &cleaning);
}

/* ---- The end ---- */

/* The lines of the profiles that were written since the start, one for each process and peak, those that allocated most
 * first. Returns their number. */
static size_t read_lines(const struct run_report *report, struct run_line **lines) {
    char *here = getcwd(NULL, 0);
    size_t prefix = here ? strlen(here) : 0, count = 0;
    glob_t names = {0};
    int rc = glob(report->pattern, 0, NULL, &names);
    *lines = rc == 0 ? calloc(names.gl_pathc, sizeof **lines) : NULL;
    for (size_t i = 0; *lines && i < names.gl_pathc; i++) {
        const char *path = names.gl_pathv[i];
        struct stat st;
        if (stat(path, &st) != 0 || !S_ISREG(st.st_mode) ||
            (uint64_t)st.st_mtim.tv_sec * 1000000000u + (uint64_t)st.st_mtim.tv_nsec < report->since_ns)
            continue;
        if (prefix > 0 && strncmp(path, here, prefix) == 0 && path[prefix] == '/')
            path += prefix + 1;
        run_line_read(&(*lines)[count++], path);
    }
    if (count > 0) {
        count = run_line_fold(*lines, count);
        qsort(*lines, count, sizeof **lines, run_line_compare);
    }
    for (size_t i = 0; i < count; i++)
        (*lines)[i].passing = is_unended(report, (*lines)[i].start_ns);
    globfree(&names);
    free(here);
    return count;
}

void run_report_print(const struct run_report *report) {
    struct run_line *lines;
    size_t count = read_lines(report, &lines), full = 0;
    for (size_t i = 0; i < count; i++)
        full += !lines[i].empty;
    size_t shown = full > MOST_LINES ? MOST_LINES : full > 0 || count > 1 ? full : count;
    for (size_t i = 0; i < count; i++) {
        if (i < shown)
            run_line_print(&lines[i]);
        run_line_release(&lines[i]);
    }
    if (full > shown)
        fprintf(stderr, "cprof: and %zu more profiles\n", full - shown);
    /* A script leaves one for each `test` and `sed`. */
    size_t folded = shown < full ? count - full : count - shown;
    if (folded > 0)
        fprintf(stderr, "cprof: %s%zu profile%s without a sample, of processes that allocated little%s\n",
                full > 0 ? "and " : "", folded, folded == 1 ? "" : "s",
                folded == 1 ? "" : "; --only NAMES leaves the others out");
    free(lines);
    fputs(report->unwritten_lines ? report->unwritten_lines : "", stderr);
    if (report->unwritten_more > 0)
        fprintf(stderr, "cprof: and %u more that could not be written; see `cprof ls --all`\n", report->unwritten_more);
    if (report->running > 0)
        fprintf(stderr, "cprof: %u of its processes %s still running; see `cprof ls`\n", report->running,
                report->running == 1 ? "is" : "are");
    else if (count == 0 && report->unwritten == 0 && (report->obstacle || !report->to_device))
        fprintf(stderr, "cprof: no profile was written%s%s\n", report->obstacle ? ": " : "",
                report->obstacle ? report->obstacle : "; see `cprof run --explain`");
}
