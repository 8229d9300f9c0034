/* SPDX-License-Identifier: Apache-2.0 */
/* Making the profile of a process that is gone, and taking its segment away.
 *
 * Role:    behind `cprof recover`, and what `cprof run` does for processes that were killed. */
#ifndef CPROF_TOOLS_RECOVER_H
#define CPROF_TOOLS_RECOVER_H

#include "tools/segments.h"

#include <stdbool.h>
#include <stdint.h>

struct recover_options {
    const char *output; /* a name, or a directory; NULL: where the process would have written */
    bool numbered;      /* `output` is another profile's already: if that is a file, the name gets a number */
    bool keep;          /* the segment */
    bool discard;       /* makes no profile */
    bool symbolize;
    uint64_t ended_mono_ns; /* when the process ended; 0: not known, the profile then has no duration */
    /* Called with the name of each profile that was made, if not NULL. */
    void (*placed)(void *ctx, const struct segment_file *file, const char *name);
    /* Called instead of a message when a profile can't be written, if not NULL. */
    void (*failed)(void *ctx, const struct segment_file *file, const char *name, const char *reason);
    void *ctx; /* of both */
};

/* True if its process was killed before it had recorded anything: not even the profile's name need be there. */
bool recover_is_empty(const struct segment_file *file);

/* How many profiles recover_segment() makes of it: none, one, or that of the peak as well. */
unsigned recover_profiles(const struct segment_file *file);

/* Does what is to be done for a segment whose process is dead: makes the profile (and that of the peak), if there is
 * any to be made that the process did not write itself, and removes the segment. Returns EXIT_OK or, after a message,
 * another code. */
int recover_segment(struct segment_file *file, const struct recover_options *options);

#endif
