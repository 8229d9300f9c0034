/* SPDX-License-Identifier: Apache-2.0 */
/* Writing files in one step. */
#ifndef CPROF_TOOLS_SAVE_H
#define CPROF_TOOLS_SAVE_H

#include "proto/port.h"
#include "proto/profile.h"

#include <stdbool.h>

/* Writes all of it to a descriptor. Returns 0 or -errno. */
int save_bytes(int fd, const void *bytes, size_t len);

/* Writes a file, which is either as it was or complete: it is written beside and renamed. An existing file's mode is
 * kept, and what a symbolic link points to is written; "-" is standard output, and what is no regular file is written
 * to as it is. `put` writes `what` to a descriptor and returns 0 or -errno. Returns EXIT_OK or, after a message,
 * another code. */
int save_file(const char *path, int (*put)(const void *what, int fd), const void *what);

/* Whether saving to `path` would put something else in the place of an input, a file that is under any name the same.
 * Says so if it would. */
bool save_replaces(const char *path, const char *input);

/* From now on a limit on the size of files is an error like others, after which a temporary file can be taken away. */
void save_outlive_limits(void);

/* Sends a profile to the sink, as gzip, and behind it `len` bytes of `more`, which are fields of it that are encoded
 * already. Returns 0, -ENOMEM or what the sink returned. */
int pack_profile(const ProfProfile *profile, const void *more, size_t len, const struct prof_sink *sink);

#endif
