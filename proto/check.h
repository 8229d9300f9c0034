/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a profile is valid.
 *
 * Role:    the rules of the format (profile.proto), of pprof (Profile.CheckValid) and of cprof in one place. Run on
 *          every profile that a test makes, and by `cprof check`.
 * Rules:   - string 0 is empty; all strings are UTF-8; every index is one of a string
 *          - ids are not 0 and, in their table, different; every id referred to exists
 *          - mapping 1 is the main binary: it has a name, and not one in brackets
 *          - an address lies in its location's mapping
 *          - a sample has one value for each sample type, none of them negative; it may have no location, as in Go's
 *            profile of threads
 *          - inuse_X <= alloc_X in every sample, where both are there
 *          - sample types have names, all different; the default one is among them
 *          - period and period_type come together; times are not negative
 *          - labels have a key and one value; functions have a name
 * That a stack has its leaf first can't be seen in it.
 */
#ifndef CPROF_PROTO_CHECK_H
#define CPROF_PROTO_CHECK_H

#include "proto/profile.h"

/* After this many faults the rest is not looked at. */
#define CHECK_FAULTS_MAX 100u

/* Called for each fault: `where` as "sample 3", counted from 1 (strings from 0), and `what` is wrong there. Both live
 * until the return. */
typedef void check_report(void *ctx, const char *where, const char *what);

/* Returns the number of faults, at most CHECK_FAULTS_MAX; 0: valid. */
unsigned profile_check(const ProfProfile *profile, check_report *report, void *ctx);

#endif
