/* SPDX-License-Identifier: Apache-2.0 */
/* What a run left: the profiles of its processes, those that were killed included.
 *
 * Which profiles and segments are the run's: those since the program was started whose names CPROF_OUT's template can
 * give. Runs beside each other with one template in one directory can't be told apart, and need not be. */
#ifndef CPROF_TOOLS_RUN_REPORT_H
#define CPROF_TOOLS_RUN_REPORT_H

#include "tools/segments.h"

#include <stdbool.h>
#include <stdint.h>

struct run_report {
    bool to_device; /* or to a pipe, so that no profile is there to be found */
    char *pattern;  /* of names of profiles, absolute, for fnmatch and glob */
    char *obstacle; /* why the program itself has no profile, as far as it was to be seen before; for free(), or NULL */
    uint64_t since_ns;
    uint64_t since_ticks;
    unsigned running;  /* processes of the run that go on */
    uint64_t *unended; /* starts of these, and of those whose last profile could not be written */
    size_t unended_count;
    unsigned unwritten;                      /* profiles that could not be written; the records are kept */
    unsigned unwritten_told, unwritten_more; /* of them those in the lines, and further ones */
    char *unwritten_lines; /* what is to be said of those that have not said it themselves; NULL: nothing */
};

/* Before the program is started. `template` is CPROF_OUT, absolute. False without memory. Once it has been started,
 * since_ticks is to be set to its start time. */
bool run_report_init(struct run_report *report, const char *template);
void run_report_release(struct run_report *report);

/* Whether the segment is of a process of the run. */
bool run_report_is_ours(const struct run_report *report, const struct segment_file *file);

/* Makes the profiles of processes that were killed. */
void run_report_recover(struct run_report *report, bool symbolize);

/* One line a profile on standard error. */
void run_report_print(const struct run_report *report);

#endif
