/* SPDX-License-Identifier: Apache-2.0 */
/* The entries of a profile's tables by their ids.
 *
 * Why:     profile.proto asks only that ids differ and are not 0. Most writers number entries from 1, in their order,
 * for which nothing is kept here; others need a table to be found in.
 */
#ifndef CPROF_PROTO_IDS_H
#define CPROF_PROTO_IDS_H

#include "proto/profile.h"

#include <stddef.h>
#include <stdint.h>

/* Where the id of the entry at an index is. */
typedef uint64_t *ids_id(const ProfProfile *profile, size_t i);
ids_id ids_mapping, ids_location, ids_function;

struct id;
struct ids {
    struct id *sorted; /* NULL: they are 1, 2, 3... */
    size_t count;
};

/* Looks at `count` entries. Returns 0 or -ENOMEM; what was made is for ids_release() either way. */
int ids_init(struct ids *ids, const ProfProfile *profile, size_t count, ids_id *id);

/* Number from 1 of the first entry that has the id; 0: none has, or the id is 0. */
size_t ids_find(const struct ids *ids, uint64_t id);

void ids_release(struct ids *ids);

#endif
