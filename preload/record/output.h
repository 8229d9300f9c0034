/* SPDX-License-Identifier: Apache-2.0 */
/* Writing the profile: names of files, the temporary file and its renaming, and a stack and memory to do it with.
 *
 * May be called at any time, in any thread, also in a signal handler, and on a stack with next to no room. One writer at a
 * time; who comes second leaves. Uses raw system calls alone; open descriptors are closed before it returns. */
#ifndef CPROF_RECORD_OUTPUT_H
#define CPROF_RECORD_OUTPUT_H

#include <stddef.h>
#include <stdint.h>

#include "preload/backend/backend.h"

/* At the start: fixes the directory, puts memory aside. `template` is CPROF_OUT and is kept by reference; `exe` is the path of
 * the executable. 0 or -errno. */
int output_init(const char *template, const char *exe);

/* Nothing is going to be written: gives the memory back. */
void output_discard(void);

/* Once it is loaded; nothing is written before. */
void output_backend(const struct backend *b);

enum output_kind {
    OUTPUT_END,  /* the last one: takes the plain name */
    OUTPUT_DUMP, /* one of several: numbered */
    OUTPUT_PEAK, /* the peak's, beside the last one */
};

/* Writes a profile to the name that the template gives. 0, or -errno after a line on stderr; -EALREADY if one is being
 * written. */
int output_write(enum output_kind kind);

/* The same to a name of the caller's choice (cprof_dump); NULL: by the template, as OUTPUT_DUMP. */
int output_write_to(const char *path);

/* Enters in the segment the name that the last profile is going to have, for those who write it in our place. At the start, and
 * in a forked child. */
void output_name_stored(void);

/* Called with the name of each profile that was written, when it is complete, if it holds samples that this process took itself (a
 * child that ends soon after its fork has none, and shells have many such); NULL: nothing. */
extern void (*output_written)(enum output_kind kind, const char *path) __attribute__((visibility("hidden")));

#endif
