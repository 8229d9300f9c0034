/* SPDX-License-Identifier: Apache-2.0 */
/* The processes that `cprof serve` shows: those of this user that are profiled and alive.
 *
 * Model:   a list, looked up anew when it is older than the caller likes. Which of them is meant if a request does not
 *          say: the one that the command line chose, or the only one. */
#ifndef CPROF_TOOLS_SERVE_PROCESSES_H
#define CPROF_TOOLS_SERVE_PROCESSES_H

#include "tools/segment_totals.h"
#include "tools/segments.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct served {
    pid_t pid;
    uint64_t ticks;              /* start time: with the pid, it names a process for good */
    char path[SEGMENT_PATH_MAX]; /* of its segment */
    char name[64];               /* of its executable; any bytes */
    uint64_t start_wall_ns;
    uint64_t rate;
    bool complete; /* all of its records are in the segment */
    bool summed; /* `totals` has been looked for */
    bool has_totals;
    struct segment_totals totals;
};

struct processes {
    struct served *at; /* oldest process first */
    size_t count;
    size_t room;
    uint64_t looked_ns; /* CLOCK_MONOTONIC; 0: never */
    uint64_t *dead;     /* hashes of names of segments whose processes ended, sorted: they don't come back */
    size_t dead_count;
    pid_t chosen;        /* 0: none */
    pid_t preferred;     /* the same, while it is there; 0: none */
    const char *pattern; /* of names (fnmatch); NULL: none */
    bool (*is_ours)(const void *ctx, const struct segment_file *file); /* which are listed; NULL: all */
    const void *ctx;
};

/* Most processes that are listed. */
#define PROCESSES_MAX 4096u

/* Makes the list be no older than `age_ns`. */
void processes_look(struct processes *processes, uint64_t age_ns);

const struct served *processes_find(const struct processes *processes, pid_t pid);

/* What it had allocated when this was first asked since the list was made: it takes a look at all of its records. NULL
 * if it can't be said. */
const struct segment_totals *processes_totals(struct served *served);

/* The process to take if none is named, or NULL; then *several says whether there are too many, and not too few. */
const struct served *processes_default(const struct processes *processes, bool *several);

/* Opens the segment of a process that is alive. Returns 0, or a negative errno: there is none, or not any more. */
int processes_open(struct processes *processes, pid_t pid, struct segment_file *file);

void processes_release(struct processes *processes);

#endif
