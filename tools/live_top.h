/* SPDX-License-Identifier: Apache-2.0 */
/* The live view of a process: `cprof top PID`. */
#ifndef CPROF_TOOLS_LIVE_TOP_H
#define CPROF_TOOLS_LIVE_TOP_H

#include "tools/live.h"
#include "tools/tool.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum { LIVE_ONCE = TOOL_LONG + 200, LIVE_INTERVAL, LIVE_SORT };

/* For a command's table. */
/* clang-format off */
#define LIVE_TOP_OPTIONS \
    {.help = "Of a living process:"}, \
    {LIVE_ONCE, "once", NULL, "print one table with all figures in full and end, as when the output is no terminal"}, \
    {LIVE_INTERVAL, "interval", "SECONDS", "time between looks; 2"}, \
    {LIVE_SORT, "sort", "inuse_space|inuse_objects|alloc_space|alloc_objects", "what to begin with; inuse_space"}
/* clang-format on */

struct live_top_options {
    enum live_type type;
    bool by_cum;
    bool once;       /* print one table and return; so it is too if there is no terminal */
    size_t count;    /* most rows; 0: all, or as many as fit the terminal */
    double interval; /* seconds between looks */
    bool names;      /* look names up */
};

#define LIVE_TOP_DEFAULT                                                                                               \
    { .type = LIVE_INUSE_SPACE, .interval = 2, .names = true }

/* Takes an option of LIVE_TOP_OPTIONS, its argument being optarg. False, after a message, if that is wrong. */
bool live_top_option(struct live_top_options *options, int option);

/* Shows the process until it ends or its user has seen enough. Returns an exit code, after a message if it isn't
 * EXIT_OK. */
int live_top(pid_t pid, const struct live_top_options *options);

/* If the text is the number of a process and there is no file of that name, true and *pid. */
bool live_top_is_process(const char *text, pid_t *pid);

#endif
