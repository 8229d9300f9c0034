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
    bool peak;               /* inuse_bytes is what was in use at the peak, not at the end */
    bool estimated;          /* it was sampled */
    bool incomplete;         /* records are missing: inuse_bytes is at least that... */
    bool unsure;             /* ...or about that */
    uint64_t over_limit;     /* of them those for which there was no room */
    bool empty;              /* no sample fell into it */
    struct prof_error error; /* "": it could be read */
};

/* Reads the profile at `path`, which is what the line will call it. */
void run_line_read(struct run_line *line, const char *path);
void run_line_release(struct run_line *line);

/* For qsort: those that allocated most first, those without a sample last. */
int run_line_compare(const void *left, const void *right);

/* On standard error. */
void run_line_print(const struct run_line *line);

#endif
