/* SPDX-License-Identifier: Apache-2.0 */
/* What a profile's comment says, for tools that go by it: the reading side of proto/comment.h. */
#ifndef CPROF_TOOLS_PROFILE_COMMENT_H
#define CPROF_TOOLS_PROFILE_COMMENT_H

#include "proto/profile.h"

#include <stdbool.h>
#include <stdint.h>

struct profile_comment {
    uint64_t alloc_bytes, alloc_objects; /* exact, of the first comment that has them */
    bool exact;                          /* there is one: the profile is cprof's */
    bool peak;                           /* its "in use" is as of the peak */
    bool incomplete;                     /* records are missing: figures are at least what is shown... */
    bool unsure;                         /* ...but "in use", as frees may be missing, too */
    uint64_t over_limit, dropped;        /* how many samples, as far as it says */
};

/* Reads the comments of all profiles that were added up. */
void profile_comment_read(const ProfProfile *profile, struct profile_comment *comment);

#endif
