/* SPDX-License-Identifier: Apache-2.0 */
/* Reading profile files.
 *
 * Role:    from a file, whoever wrote it, to a profile in memory. Used by all tools.
 * Takes:   the format of profile.proto, in gzip (any number of members, as the gzip command reads them) or bare, any
 *          number of messages in a row. What comes out is well-formed, nothing more: see check.h for valid.
 * Safety:  for input that nobody vouches for. Its size, once unpacked, and the memory that the profile takes are
 *          limited; beyond the limits, and for anything malformed, it says so and returns NULL.
 */
#ifndef CPROF_PROTO_READER_H
#define CPROF_PROTO_READER_H

#include "proto/profile.h"

#include <stddef.h>
#include <stdint.h>

/* Most bytes of a file, and of its content without gzip, if the caller names no other limit. */
#define READER_MAX_BYTES (UINT64_C(1) << 30)

/* Memory that a profile may take: this many times the bytes of its content, and this many times the limit above. What
 * the samples of real profiles take is 4 to 25 times their bytes, the most for short stacks with small values; the
 * second limit, 4 GiB by default, is for content that was forged to swell. */
#define READER_EXPANSION 64u
#define READER_EXPANSION_OF_LIMIT 4u

/* What went wrong, for people: one line without the file's name. */
struct prof_error {
    char text[256];
};

/* Reads the file, or standard input if `path` is "-". `max_bytes` 0 stands for READER_MAX_BYTES. Returns a profile
 * for profile_free(), or NULL and *error. */
ProfProfile *profile_read(const char *path, uint64_t max_bytes, struct prof_error *error);

/* The same for a file in memory. */
ProfProfile *profile_read_bytes(const void *bytes, size_t len, uint64_t max_bytes, struct prof_error *error);

/* NULL is fine. */
void profile_free(ProfProfile *profile);

#endif
