/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of a living process and what each stands for, again and again.
 *
 * Role:    `cprof top PID`. As report.h does for profiles, but from the segment itself: a name is looked up once, when
 * its address is first seen, and a look later costs no more than adding up. Model:   as report.h has it. Frames that
 * are to be dropped (proto/drop_frames.h) are, as pprof drops them. */
#ifndef CPROF_TOOLS_LIVE_H
#define CPROF_TOOLS_LIVE_H

#include "tools/segments.h"

#include <stdbool.h>
#include <stddef.h>

enum live_type { LIVE_ALLOC_OBJECTS, LIVE_ALLOC_SPACE, LIVE_INUSE_OBJECTS, LIVE_INUSE_SPACE, LIVE_TYPES };

/* Its name as pprof has it: "inuse_space". */
const char *live_type_name(enum live_type type);
bool live_parse_type(const char *text, enum live_type *type);

struct live_row {
    const char *name; /* printable */
    double flat[LIVE_TYPES];
    double cum[LIVE_TYPES];
};

struct live;

/* With `names` off functions are called by their files and offsets. NULL without memory. */
struct live *live_new(bool names);
void live_free(struct live *live);

/* Looks at the segment as its view has it. Returns 0, -EFAULT if the file was cut off meanwhile, or -ENOMEM. What it
 * found is there until the next time. */
int live_read(struct live *live, const struct segment_file *file);

/* Those with anything to show for the type, in the order of flat or of cum. Returns their number. */
size_t live_rows(struct live *live, enum live_type type, bool by_cum, const struct live_row *const **rows);

/* Sum over all samples. */
double live_total(const struct live *live, enum live_type type);

#endif
