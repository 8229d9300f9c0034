/* SPDX-License-Identifier: Apache-2.0 */
/* From a segment to a profile in a file, by the encoder that the library itself uses.
 *
 * Files:   written beside their name and renamed, so that nobody sees half of one. What is no regular file is written
 * to as it is. Names are given as the library gives them (preload/record/name.h). */
#ifndef CPROF_TOOLS_SEGMENT_PROFILE_H
#define CPROF_TOOLS_SEGMENT_PROFILE_H

#include "tools/segments.h"

#include "proto/encode.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct segment_bytes {
    unsigned char *at; /* for free() */
    size_t len;
};

/* Makes the profile in memory, without names. Returns 0 or a negative errno: -EFAULT if the file was cut off meanwhile,
 * -ENOMEM. */
int segment_encode(const struct segment_file *file, const struct encode_options *options, struct segment_bytes *bytes);

enum segment_placing {
    SEGMENT_REPLACE, /* what is there */
    SEGMENT_BESIDE, /* nothing that was written since the process began, and nothing that isn't a profile: then the next
                       free number goes before the suffix. Of programs that one process ran by exec the last has the
                       plain name */
};

struct segment_output {
    enum segment_placing placing;
    uint64_t since_ns;   /* for SEGMENT_BESIDE: when the process began, */
    uint64_t program_ns; /* and when it became the program that it was in the end */
    bool symbolize;
    uint64_t now_mono_ns;
    bool peak;
    /* Called instead of a message if the file can't be written; NULL: there is one. */
    void (*failed)(void *ctx, const struct segment_file *file, const char *path, const char *reason);
    void *ctx;
};

/* Makes the profile and gives it the name `path`, "-" being standard output. Returns EXIT_OK and in *placed, for
 * free(), the name it got; or, after a message, another code (exits.h). */
int segment_write_profile(const struct segment_file *file, const struct segment_output *output, const char *path,
                          char **placed);

/* The name with ".WORD" before its suffix ".pb.gz", or at its end; for free(), NULL without memory. */
char *segment_name_insert(const char *path, const char *word);

/* CLOCK_MONOTONIC. */
uint64_t segment_now(void);

#endif
