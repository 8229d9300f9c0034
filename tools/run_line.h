/* SPDX-License-Identifier: Apache-2.0 */
/* A line about a profile, as `cprof run` says it at its end. */
#ifndef CPROF_TOOLS_RUN_LINE_H
#define CPROF_TOOLS_RUN_LINE_H

#include "proto/reader.h"

#include <stdbool.h>
#include <stdint.h>

struct run_line {
    char *path;
    char program[64];     /* its executable's name */
    uint64_t alloc_bytes; /* exact: by the profile's comment, as samples also tell what a fork brought along */
    uint64_t alloc_objects;
    uint64_t inuse_bytes;
    double inuse_error;      /* one standard error; 0: it is exact */
    uint64_t start_ns;       /* when the process began: the same in all profiles of it */
    uint64_t duration_ns;    /* what the profile covers from then on */
    bool peak;               /* inuse_bytes is what was in use at the peak, not at the end */
    bool passing;            /* nor is this the end: the process went on */
    bool estimated;          /* it was sampled */
    bool incomplete;         /* records are missing: inuse_bytes is at least that... */
    bool unsure;             /* ...or about that */
    uint64_t over_limit;     /* of them those for which there was no room */
    bool empty;              /* no sample fell into it */
    struct prof_error error; /* "": it could be read */
    /* Profiles of the same process that were written before this one: how many, and of the first and the last of them
     * the name and the duration. */
    size_t earlier;
    char *earlier_path[2];
    uint64_t earlier_ns[2];
};

/* Reads the profile at `path`, which is what the line will call it. */
void run_line_read(struct run_line *line, const char *path);
void run_line_release(struct run_line *line);

/* Of the profiles of one process keeps the last, and what it says of the others. Returns how many are left. */
size_t run_line_fold(struct run_line *lines, size_t count);

/* For qsort: those that allocated most first, those without a sample last. */
int run_line_compare(const void *left, const void *right);

/* On standard error. */
void run_line_print(const struct run_line *line);

#endif
