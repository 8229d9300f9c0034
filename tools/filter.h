/* SPDX-License-Identifier: Apache-2.0 */
/* Which frames and samples of a profile are looked at. Each changes the profile in memory, as pprof does. */
#ifndef CPROF_TOOLS_FILTER_H
#define CPROF_TOOLS_FILTER_H

#include "tools/pattern.h"
#include "tools/tag_pattern.h"

#include "proto/profile.h"

/* Cuts off frames of functions that match Profile.drop_frames (and not keep_frames), with all that they called: going
 * from the root, at the first of them behind one that does not match. Of several functions at one location the
 * matching one and those inside it go, in all stacks. Returns 0, or -ENOMEM, or -EINVAL with *reason if an expression
 * can't be understood. */
int filter_drop_frames(ProfProfile *profile, const char **reason);

/* Each may be NULL. Names are those of functions, of source files and of the mapping's file. */
struct filter_names {
    const struct pattern *focus;  /* only samples with a frame that matches */
    const struct pattern *ignore; /* and none that matches this */
    const struct pattern *hide;   /* without frames that match */
    const struct pattern *show;   /* only frames that match */
};

/* What matched at all, for telling the user. */
struct filter_matched {
    bool focus, ignore, hide, show;
};

/* Returns 0 or -ENOMEM. */
int filter_names(ProfProfile *profile, const struct filter_names *names, struct filter_matched *matched);

/* Keeps the samples whose labels match `focus` and don't match `ignore`, each of which may be NULL. Of *matched, focus
 * and ignore are filled. Returns 0 or -ENOMEM. */
int filter_tags(ProfProfile *profile, const struct tag_pattern *focus, const struct tag_pattern *ignore,
                struct filter_matched *matched);

#endif
