/* SPDX-License-Identifier: Apache-2.0 */
/* Profiles as the tools work on them.
 *
 * What load_profile() returns can be used without looking: every reference leads somewhere, and ids are 1, 2, 3... in
 * the order of the entries, so that entry i of a table is the one with id i + 1; a sample has one value for each sample
 * type. Whoever wrote the file, as long as pprof would take it: cprof check is stricter. */
#ifndef CPROF_TOOLS_LOAD_H
#define CPROF_TOOLS_LOAD_H

#include "proto/profile.h"

/* Reads a file, "-" being standard input. NULL, after a message, with *code (exits.h). */
ProfProfile *load_profile(const char *path, int *code);

/* Gives all entries their dense ids, and the references to them. False, with what is wrong in *reason (static), if one
 * leads nowhere or the profile is inconsistent otherwise. */
bool load_settle(ProfProfile *profile, const char **reason);

/* Writes a profile as gzip to a file, which is either as it was or complete: it is written beside and renamed. An
 * existing file's mode is kept, and what a symbolic link points to is written. "-": to standard output. Returns EXIT_OK
 * or, after a message, another code. */
int save_profile(const ProfProfile *profile, const char *path);

#endif
