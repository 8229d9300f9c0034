/* SPDX-License-Identifier: Apache-2.0 */
/* Adds texts and functions to a profile in memory, each once.
 *
 * The profile is one of profile_read(): what is added is taken from malloc, as its own parts are, and is freed with it.
 * Its ids must be dense (load.h); new functions continue them. */
#ifndef CPROF_TOOLS_SYMBOLIZE_NAMES_H
#define CPROF_TOOLS_SYMBOLIZE_NAMES_H

#include "proto/profile.h"

#include <stddef.h>
#include <stdint.h>

/* Indices + 1 of entries, by hash; 0 is free. */
struct names_table {
    uint32_t *slots;
    size_t size; /* a power of two */
    size_t used;
};

struct names {
    ProfProfile *profile;
    struct names_table texts;
    struct names_table functions;
    size_t text_room; /* allocated entries of the profile's arrays */
    size_t function_room;
};

/* Returns 0 or -ENOMEM; names_release() is due in either case. */
int names_init(struct names *names, ProfProfile *profile);

/* Index of a text, made valid UTF-8 by putting U+FFFD for each byte that isn't; or -ENOMEM. */
int64_t names_text(struct names *names, const char *text, size_t len);

/* Id of a function with these texts, or -ENOMEM. */
int64_t names_function(struct names *names, int64_t name, int64_t system_name, int64_t filename, int64_t start_line);

/* Forgets the tables; what was added stays. */
void names_release(struct names *names);

#endif
