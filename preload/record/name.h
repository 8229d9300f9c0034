/* SPDX-License-Identifier: Apache-2.0 */
/* Names of the profiles: CPROF_OUT's template filled in.
 *
 * %e executable, %p pid, %n number of the dump, %h host, %t start time in seconds since 1970, %% a percent sign. The directory is
 * fixed when the process starts. So that no profile replaces another one of the same session:
 *   - without %p, a forked child's name gets its pid, and so does that of a program started by a profiled one;
 *   - without %n, the profiles written before the last one are numbered;
 *   - a file that was written after this process began is not replaced. If this process wrote it, as the program that it
 *     was before an exec, that file gets the next free number; otherwise this one does.
 * What is inserted goes before ".pb.gz" if the name ends so, and to the end otherwise. */
#ifndef CPROF_RECORD_NAME_H
#define CPROF_RECORD_NAME_H

#include <stddef.h>

#include "preload/record/output.h"

#define NAME_ROOM 8192

/* What a % may have behind it. */
#define NAME_SEQUENCES "epnht%"

/* CPROF_OUT where none is given. */
#define NAME_USUAL "cprof.%e.%p.pb.gz"

/* The first % in a template that stands for nothing, and stays as it is; NULL if there is none. */
const char *name_unknown(const char *template);

void name_init(const char *template, const char *exe);

/* Writes the name of the process's `number`th profile into buf; 0 or -ENAMETOOLONG. */
int name_make(enum output_kind kind, uint32_t number, char *buf, size_t room);

/* A name that the program chose, as it is. */
int name_given(const char *path, char *buf, size_t room);

/* The process was forked from a profiled one, or started by one. */
int name_is_descendants(void);

/* Name in the same directory for writing to first. */
void name_temporary(const char *path, char *buf, size_t room);

/* Gives the finished temporary file its name, which is changed in `path` (of NAME_ROOM bytes) if it may not be replaced. 0 or
 * -errno. */
int name_put(const char *temporary, char *path);

#endif
