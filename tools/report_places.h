/* SPDX-License-Identifier: Apache-2.0 */
/* Which nodes of a report the locations of a profile belong to.
 *
 * Locations with the same function (and file and line, where those are asked for) are one node; without a function
 * it is the mapping's file that counts. */
#ifndef CPROF_TOOLS_REPORT_PLACES_H
#define CPROF_TOOLS_REPORT_PLACES_H

#include "tools/report.h"

#define NODE_NONE UINT32_MAX

/* What makes a node; texts are terminated and may be empty. */
struct node_info {
    const char *name;
    const char *file;
    const char *object; /* only of those without a name */
    int64_t start_line; /* likewise */
    int64_t line;
    const char *printable;
};

struct places_of_nodes {
    const ProfProfile *profile;
    struct node_info *nodes;
    size_t node_count;
    uint32_t *of_lines;    /* nodes of all locations, one behind the other */
    uint32_t *of_location; /* by id - 1: where its nodes begin in it; and one more */
    const char *unit;
    struct node_memory *memory; /* owns it all */
};

/* Returns 0 or -ENOMEM. `places->memory` is to be released in either case. */
int places_of_nodes_init(struct places_of_nodes *places, const ProfProfile *profile,
                         const struct report_options *options);

/* The nodes of a location, the innermost first; at least one, except where a filter took all. */
static inline const uint32_t *places_of_location(const struct places_of_nodes *places, uint64_t id, size_t *count) {
    uint32_t first = places->of_location[id - 1];
    *count = places->of_location[id] - first;
    return places->of_lines + first;
}

/* An order of nodes that look the same, by all that they are; as pprof's. */
int places_compare(const struct places_of_nodes *places, uint32_t left, uint32_t right);

/* The unit of the sample type. */
static inline const char *places_unit(const struct places_of_nodes *places) {
    return places->unit;
}

void places_of_nodes_release(struct node_memory *memory);

#endif
