/* SPDX-License-Identifier: Apache-2.0 */
/* The profile's comment: how far the figures can be trusted, in one line for people.
 *
 *   cprof 0.1.0: exact alloc_space=N alloc_objects=N; estimated alloc_space=N ±x.x% alloc_objects=N ±x.x% (one
 *   standard error) from N samples; truncated N, dropped N, over memory limit N; own memory N KiB
 *
 * all of it one line. At rate 1 "every allocation recorded" takes the place of the estimate. Where records are missing
 * COMMENT_INCOMPLETE says so, instead of that or behind the estimate. Then follow, if there is
 * something to say: what a fork brought along, the peak, the object that serves malloc, and the library's note.
 * "Exact" is what the threads counted, the blocks inherited at a fork excluded, as they are from the estimate. */
#ifndef CPROF_PROTO_COMMENT_H
#define CPROF_PROTO_COMMENT_H

#include "proto/estimate.h"
#include "proto/view.h"

#define COMMENT_MAX 12288u

#define COMMENT_COMPLETE "every allocation recorded"
#define COMMENT_INCOMPLETE "records are incomplete"
/* Behind that, where no more is missing than what was allocated beyond the memory limit. */
#define COMMENT_AT_LEAST ": what functions allocated and what is in use is at least what is shown"

struct comment {
    size_t len;
    char text[COMMENT_MAX]; /* not terminated */
    char scratch[4096];
};

/* What the encoder found out on the way. */
struct comment_facts {
    const struct estimate_total *own;       /* allocated by this process */
    const struct estimate_total *inherited; /* allocated by the one it was forked from */
    uint64_t over_limit;                    /* samples at SEGMENT_NAME_OVERFLOW */
    bool partial;                           /* part of the records could not be seen */
    bool peak;                              /* in use is what was at the peak, */
    uint64_t peak_mono_ns;                  /* which was then */
};

void comment_write(struct comment *comment, const struct segment_view *view, const struct comment_facts *facts);

#endif
