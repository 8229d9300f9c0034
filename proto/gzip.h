/* SPDX-License-Identifier: Apache-2.0 */
/* A gzip stream, written as its content comes.
 *
 * Role:    last stage of writing a profile: bytes in, gzip bytes out to a sink, in pieces of GZIP_PIECE.
 * Rules:   no memory but what the caller's prof_memory gives, all of it at gzip_open() (about 270 KiB for zlib at
 *          level 1 and GZIP_PIECE); no other state. After an error every further call returns it again.
 */
#ifndef CPROF_PROTO_GZIP_H
#define CPROF_PROTO_GZIP_H

#include <stdbool.h>
#include "proto/port.h"

#include <zlib.h>

#define GZIP_PIECE 65536u

struct gzip {
    z_stream stream;
    const struct prof_memory *memory;
    const struct prof_sink *sink;
    unsigned char *piece; /* NULL: bare */
    bool bare;
    int error;
};

#define GZIP_BARE (-1)

/* Starts a stream. `level` is zlib's, 1 to 9, or GZIP_BARE: then bytes go to the sink as they are. `small`: a few KiB are to come, and zlib shall take 30 KiB. Returns 0, or -ENOMEM with nothing left to close. */
int gzip_open(struct gzip *gzip, const struct prof_memory *memory, const struct prof_sink *sink, int level, bool small);

/* Returns 0 or what the sink said. */
int gzip_write(struct gzip *gzip, const void *bytes, size_t len);

/* Ends the stream, so that what the sink got is a whole gzip member. Returns as gzip_write(). */
int gzip_finish(struct gzip *gzip);

/* Frees everything, also after errors and without gzip_finish(). */
void gzip_close(struct gzip *gzip);

#endif
