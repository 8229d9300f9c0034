/* SPDX-License-Identifier: Apache-2.0 */
/* Sums over a segment: what a line about a process says. */
#ifndef CPROF_TOOLS_SEGMENT_TOTALS_H
#define CPROF_TOOLS_SEGMENT_TOTALS_H

#include "tools/segments.h"

#include <stdbool.h>
#include <stdint.h>

struct segment_totals {
    uint64_t alloc_bytes; /* exact, as of each thread's last sample */
    uint64_t alloc_objects;
    uint64_t samples;
    uint64_t inuse_bytes; /* estimated without bias; exact at rate 1 */
    uint64_t inuse_objects;
    double inuse_error; /* one standard error of inuse_bytes; 0 at rate 1 */
    bool about;         /* what is in use and the peak are estimates, or records are missing of any kind; */
    bool at_least;      /* or there is more, beyond the memory limit */
    bool has_peak;
    uint64_t peak_bytes; /* at the peak, if that is kept */
    uint64_t peak_objects;
    double peak_error;
};

/* Returns 0, or -EFAULT if the file was cut off meanwhile. */
int segment_sum(const struct segment_file *file, struct segment_totals *totals);

#define SIZE_TEXT_MAX 24u

/* As pprof writes sizes: 1.50MB, 512B. Returns `text`. */
const char *size_text(uint64_t bytes, char text[SIZE_TEXT_MAX]);

/* The same of an estimate with this standard error: no more digits than it has. */
const char *size_estimate_text(uint64_t bytes, double error, char text[SIZE_TEXT_MAX]);

/* What is to be written before what is in use and the peak: "≈", "≥" or nothing. */
const char *size_mark(const struct segment_totals *totals);

/* The executable's name, with what a terminal could take for an order replaced. Returns `text`. */
const char *segment_name(const struct segment_file *file, char text[64]);

/* What it says its profile will be called; the length, 0 if it does not say. */
size_t segment_out(const struct segment_file *file, char *text, size_t room);

#endif
