/* SPDX-License-Identifier: Apache-2.0 */
/* Expressions for samples' labels, as pprof takes them for -tagfocus and -tagignore.
 *
 *   RE,RE...       each matches some label of the sample, written KEY:TEXT
 *   KEY=RE,RE...   one of them matches the text of a label KEY
 *
 * Only labels that are texts count. pprof takes ranges of numbers too (1kb:4kb), for labels that are numbers: these are
 * refused, since as expressions they would mean something else. */
#ifndef CPROF_TOOLS_TAG_PATTERN_H
#define CPROF_TOOLS_TAG_PATTERN_H

#include "tools/pattern.h"

#include "proto/profile.h"

struct tag_pattern {
    const char *key; /* not terminated; NULL: none was given */
    size_t key_len;
    struct pattern *patterns;
    size_t count;
};

/* Compiles `text`, which must outlive it. False with *reason (static) if it can't be understood. */
bool tag_pattern_init(struct tag_pattern *tags, const char *text, const char **reason);

/* Returns 1 or 0, or -ENOMEM. */
int tag_pattern_matches(const struct tag_pattern *tags, const ProfProfile *profile, const ProfSample *sample);

void tag_pattern_release(struct tag_pattern *tags);

#endif
