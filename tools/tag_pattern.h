/* SPDX-License-Identifier: Apache-2.0 */
/* Expressions for samples' labels, as pprof takes them for -tagfocus and -tagignore.
 *
 *   RE,RE...       each matches some label of the sample, written KEY:TEXT
 *   KEY=RE,RE...   one of them matches the text of a label KEY
 *
 *   [KEY=]RANGE    a label (KEY, or any) that is a number in 4kb, 4kb:, :64kb or 4kb:64kb, the ends being in it
 *
 * Labels that are texts count for expressions, those that are numbers for ranges. As in pprof, a number is in the unit
 * that the label says, or else its key, and one that can't be converted to the range's is not in it; other than in
 * pprof, a range without units is in the label's own. */
#ifndef CPROF_TOOLS_TAG_PATTERN_H
#define CPROF_TOOLS_TAG_PATTERN_H

#include "tools/pattern.h"

#include "proto/profile.h"

struct tag_pattern {
    const char *key; /* not terminated; NULL: none was given */
    size_t key_len;
    struct pattern *patterns;
    size_t count;
    bool is_range; /* then there are no patterns */
    struct tag_bound {
        bool there;
        int64_t value;
        char unit[16]; /* "": the label's */
    } low, high;
};

/* Compiles `text`, which must outlive it. False with *reason (static) if it can't be understood. */
bool tag_pattern_init(struct tag_pattern *tags, const char *text, const char **reason);

/* Returns 1 or 0, or -ENOMEM. */
int tag_pattern_matches(const struct tag_pattern *tags, const ProfProfile *profile, const ProfSample *sample);

void tag_pattern_release(struct tag_pattern *tags);

#endif
