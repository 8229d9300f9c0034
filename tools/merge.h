/* SPDX-License-Identifier: Apache-2.0 */
/* Adding up and subtracting profiles. */
#ifndef CPROF_TOOLS_MERGE_H
#define CPROF_TOOLS_MERGE_H

#include "proto/profile.h"

/* Adds `other` to `profile`, or subtracts it, as pprof does for several files and for -base: samples with the same
 * stack and labels become one, and vanish if nothing is left. Stacks are the same if they are at the same places of the
 * same files, wherever those were mapped. `other` stays as it is. Both are of load_profile().
 * Returns 0 or -ENOMEM, or -EINVAL with *reason if the profiles measure different things; the profile can still be
 * freed then, but for nothing else. */
int merge_add(ProfProfile *profile, const ProfProfile *other, const char **reason);
int merge_subtract(ProfProfile *profile, const ProfProfile *other, const char **reason);

/* Makes samples with the same stack and labels one, as pprof does when it reads a profile. Only where values are
 * negative does it make a difference to a report. Returns 0 or -ENOMEM. */
int merge_samples(ProfProfile *profile);

#endif
