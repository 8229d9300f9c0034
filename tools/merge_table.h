/* SPDX-License-Identifier: Apache-2.0 */
/* Finds locations and samples of a profile that are the same as others. */
#ifndef CPROF_TOOLS_MERGE_TABLE_H
#define CPROF_TOOLS_MERGE_TABLE_H

#include "proto/profile.h"

#include <stddef.h>
#include <stdint.h>

struct merge_table {
    uint32_t *slots; /* index + 1; 0 is free. To be freed by free() */
    size_t size;
};

/* There will be at most `most` entries. Returns 0 or -ENOMEM. */
int merge_table_init(struct merge_table *table, size_t most);

/* Index of an entry that was entered before and is the same as entry i; or i, which is entered then. What is entered
 * must not change any more, but may move: samples are the same by their stack and labels, locations by what they are
 * of. */
size_t merge_find_location(struct merge_table *table, const ProfProfile *profile, size_t i);
size_t merge_find_sample(struct merge_table *table, const ProfProfile *profile, size_t i);

#endif
