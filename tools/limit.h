/* SPDX-License-Identifier: Apache-2.0 */
/* Limits on what a process or a function of it may allocate, as in `cprof check --max`. */
#ifndef CPROF_TOOLS_LIMIT_H
#define CPROF_TOOLS_LIMIT_H

#include "proto/profile.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* TYPE:FUNCTION<=BYTES or TYPE<=BYTES. The texts are not terminated and belong to the command line. */
struct limit {
    const char *text; /* as given */
    const char *type;
    size_t type_len;
    const char *function; /* NULL: the whole process */
    size_t function_len;
    uint64_t most;
};

/* Reads a limit; `text` must outlive it. False, after a message, if it is none. FUNCTION ends at the last "<=". */
bool limit_parse(struct limit *limit, const char *text);

/* Adds up the limit's type over all samples, or those that have its function (function_name.h) anywhere on their stacks
 * (each sample once, also if the function occurs twice), and prints the sum. `profile` must be valid (check.h). A
 * function that the profile doesn't know is one that was renamed or stripped as well as one that allocates nothing, so
 * only with `allow_missing` its sum is 0. Where records are missing a sum is no more than what there was at least,
 * which can be over a limit but not within it. Returns EXIT_OK; EXIT_FAULT if the sum is over the limit; EXIT_INPUT if
 * the profile has no such type or no such function, has samples but no function's name, or is incomplete in this way;
 * EXIT_SYSTEM without memory. */
int limit_check(const struct limit *limit, const ProfProfile *profile, const char *file, bool allow_missing);

#endif
