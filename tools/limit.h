/* SPDX-License-Identifier: Apache-2.0 */
/* Limits on what a function may allocate, as in `cprof check --max`. */
#ifndef CPROF_TOOLS_LIMIT_H
#define CPROF_TOOLS_LIMIT_H

#include "proto/profile.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* TYPE:FUNCTION<=BYTES. The texts are not terminated and belong to the command line. */
struct limit {
    const char *text; /* as given */
    const char *type;
    size_t type_len;
    const char *function;
    size_t function_len;
    uint64_t most;
};

/* Reads a limit; `text` must outlive it. False, after a message, if it is none. FUNCTION ends at the last "<=". */
bool limit_parse(struct limit *limit, const char *text);

/* Adds up the limit's type over the samples that have its function anywhere on their stacks (each sample once, also if
 * the function occurs twice) and prints the sum. `profile` must be valid (check.h). A function that the profile doesn't
 * know is one that was renamed or stripped as well as one that allocates nothing, so only with `allow_missing` its sum
 * is 0. Returns EXIT_OK; EXIT_FAULT if the sum is over the limit; EXIT_INPUT if the profile has no such type or no such
 * function, or has samples but no function's name; EXIT_SYSTEM without memory. */
int limit_check(const struct limit *limit, const ProfProfile *profile, const char *file, bool allow_missing);

#endif
