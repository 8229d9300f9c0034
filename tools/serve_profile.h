/* SPDX-License-Identifier: Apache-2.0 */
/* Profiles as Go's net/http/pprof serves them.
 *
 * Differs from what `cprof dump` writes, for the sake of programs that compare one profile of a process with the next:
 *   - time_nanos is when it was taken, and there is no duration, as in Go's heap profiles; of a difference the time of
 *     its end and how long it took. Stores of profiles file them under that time.
 *   - the label "bytes" is the largest size of the size class, as Go's sizes are, and not the mean of the blocks seen
 *     so far: samples are told from each other by their labels, so these must not move. */
#ifndef CPROF_TOOLS_SERVE_PROFILE_H
#define CPROF_TOOLS_SERVE_PROFILE_H

#include "tools/segment_profile.h"

#include "proto/profile.h"

#include <stdint.h>
#include <stdio.h>

/* What a process had allocated at some moment. */
struct moment {
    struct segment_bytes bytes; /* encoded */
    uint64_t wall_ns;           /* CLOCK_REALTIME */
    uint64_t inode;             /* of the segment */
    uint64_t alloc_bytes;       /* exact totals; 0 if it is not for a difference */
    uint64_t alloc_objects;
};

enum moment_use {
    MOMENT_ALONE,  /* no exact totals */
    MOMENT_BEFORE, /* is kept for a while: it shall take little memory, rather than little time */
    MOMENT_AFTER,
};

/* Returns 0 or a negative errno, as segment_encode(). */
int moment_take(struct moment *moment, const struct segment_file *file, enum moment_use use);
void moment_release(struct moment *moment);

/* The profile of that moment, for profile_free(), its ids dense; NULL without memory. */
ProfProfile *moment_profile(const struct moment *moment);

/* The same without its samples, which are given as they are encoded; they are cut out of the moment's own bytes, so it
 * has none any more. Most of a profile are samples, and names have nothing to do with them. The moment must be one
 * of MOMENT_ALONE. */
ProfProfile *moment_frame(struct moment *moment, struct segment_bytes *samples);

/* What came and went between two moments of one process. What is in use may have become less, so its values may be
 * negative. NULL without memory. */
ProfProfile *moment_difference(const struct moment *before, const struct moment *after);

/* Makes it begin with another sample type. Returns 0 or -ENOMEM. */
int profile_set_default_type(ProfProfile *profile, const char *type);

/* Gzips it, with further samples that are encoded already. Returns 0 or -ENOMEM; *bytes is for the caller to free. */
int profile_to_bytes(const ProfProfile *profile, const struct segment_bytes *samples, struct segment_bytes *bytes);

/* The form of Go's debug=1, which pprof reads as well: one line of figures for each stack, and its functions. The
 * figures are those of the profile, with a rate in the head that says so (Go prints samples, for the reader to scale).
 */
int profile_print(FILE *out, const ProfProfile *profile);

#endif
