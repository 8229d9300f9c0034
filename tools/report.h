/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of a profile and what each stands for.
 *
 * Role:    what `cprof top` prints; for whoever else wants a profile by function.
 * Model:   a node is a function, or a line of one. Its flat value is the sum of the samples whose leaf it is, its cum
 *          value that of the samples with it anywhere in the stack, each counted once. Everything is cut, ordered and
 *          rounded as by `pprof -top`.
 */
#ifndef CPROF_TOOLS_REPORT_H
#define CPROF_TOOLS_REPORT_H

#include "proto/profile.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum report_granularity { REPORT_FUNCTIONS, REPORT_FILES, REPORT_LINES };

struct report_options {
    size_t type; /* index of the sample type */
    enum report_granularity granularity;
    bool no_inlines;      /* inlined functions count as what they were inlined into */
    bool by_cum;          /* order by cum instead of flat */
    size_t count;         /* most nodes; 0: all */
    double node_fraction; /* nodes whose cum is less than this part of the total are left out; pprof: 0.005 */
    double edge_fraction; /* calls of less weight do not count in telling what was inlined; pprof: 0.001 */
    const char *unit;     /* "minimum": one that suits all; "auto": each its own; or the name of one */
};

struct report_node {
    const char *name; /* printable: never empty */
    int64_t flat;
    int64_t cum;
    bool inlined;     /* some or all calls were inlined... */
    bool not_inlined; /* ...or some or all were not */
};

struct report {
    struct report_node *nodes; /* in their order */
    size_t count;
    size_t candidates;          /* nodes before `count` was cut to options.count */
    size_t dropped;             /* nodes left out for being too small */
    int64_t total;              /* of all samples, without signs */
    const char *unit;           /* of `nodes` and `total`, for units_label(): from this */
    const char *output;         /* to that */
    struct node_memory *memory; /* owned */
};

/* Sum of a sample type over all samples, signs left out. pprof takes it before samples are selected by name. */
int64_t report_total(const ProfProfile *profile, size_t type);

/* Makes the report of a profile of load_profile(). `total`: see above. Returns 0 or -ENOMEM; report_release() is due in
 * either case, before the profile is freed. */
int report_init(struct report *report, const ProfProfile *profile, const struct report_options *options, int64_t total);

void report_release(struct report *report);

#endif
