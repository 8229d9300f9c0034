/* SPDX-License-Identifier: Apache-2.0 */
/* How: zlib's output goes to one buffer, which is handed to the sink whenever it is full. A stream's first error stays
 * in `error`; later calls do nothing but return it, so that callers in the middle of something need not look. */
#include "proto/gzip.h"

#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <string.h>

static void *zlib_alloc(void *ctx, unsigned items, unsigned size) {
    const struct prof_memory *memory = ctx;
    return memory->alloc(memory->ctx, (size_t)items * size);
}

static void zlib_free(void *ctx, void *block) {
    const struct prof_memory *memory = ctx;
    if (block)
        memory->free(memory->ctx, block);
}

int gzip_open(struct gzip *gzip, const struct prof_memory *memory, const struct prof_sink *sink, int level,
              bool small) {
    memset(gzip, 0, sizeof *gzip);
    gzip->memory = memory;
    gzip->sink = sink;
    gzip->bare = level == GZIP_BARE;
    if (gzip->bare)
        return 0;
    gzip->piece = memory->alloc(memory->ctx, GZIP_PIECE);
    if (!gzip->piece)
        return -ENOMEM;
    gzip->stream.zalloc = zlib_alloc;
    gzip->stream.zfree = zlib_free;
    gzip->stream.opaque = (void *)(uintptr_t)memory;
    /* 16 on top of the window's bits asks for gzip's header and trailer. For a few KiB of input a window of 4 KiB does as well,
     * and zlib does not clear a quarter of a MiB first, which is most of the time that a small process's profile takes. */
    int rc = deflateInit2(&gzip->stream, level, Z_DEFLATED, (small ? 12 : 15) + 16, small ? 5 : 8, Z_DEFAULT_STRATEGY);
    if (rc != Z_OK) {
        memory->free(memory->ctx, gzip->piece);
        gzip->piece = NULL;
        return rc == Z_MEM_ERROR ? -ENOMEM : -EINVAL;
    }
    gzip->stream.next_out = gzip->piece;
    gzip->stream.avail_out = GZIP_PIECE;
    return 0;
}

static int put_piece(struct gzip *gzip) {
    size_t len = GZIP_PIECE - gzip->stream.avail_out;
    if (len > 0) {
        int rc = gzip->sink->write(gzip->sink->ctx, gzip->piece, len);
        if (rc != 0)
            return rc < 0 ? rc : -EIO;
    }
    gzip->stream.next_out = gzip->piece;
    gzip->stream.avail_out = GZIP_PIECE;
    return 0;
}

int gzip_write(struct gzip *gzip, const void *bytes, size_t len) {
    if (gzip->bare) {
        int rc = gzip->error == 0 && len > 0 ? gzip->sink->write(gzip->sink->ctx, bytes, len) : 0;
        if (rc != 0)
            gzip->error = rc < 0 ? rc : -EIO;
        return gzip->error;
    }
    gzip->stream.next_in = (Bytef *)(uintptr_t)bytes;
    while (gzip->error == 0 && len > 0) {
        uInt step = len < UINT_MAX ? (uInt)len : UINT_MAX;
        gzip->stream.avail_in = step;
        /* There is input and room for output, so anything but progress is a fault. */
        if (deflate(&gzip->stream, Z_NO_FLUSH) != Z_OK)
            gzip->error = -EIO;
        len -= step - gzip->stream.avail_in;
        if (gzip->error == 0 && gzip->stream.avail_out == 0)
            gzip->error = put_piece(gzip);
    }
    return gzip->error;
}

int gzip_finish(struct gzip *gzip) {
    int rc = Z_OK;
    if (gzip->bare)
        return gzip->error;
    gzip->stream.avail_in = 0;
    while (gzip->error == 0 && rc != Z_STREAM_END) {
        rc = deflate(&gzip->stream, Z_FINISH);
        if (rc != Z_OK && rc != Z_STREAM_END)
            gzip->error = -EIO;
        else
            gzip->error = put_piece(gzip);
    }
    return gzip->error;
}

void gzip_close(struct gzip *gzip) {
    if (!gzip->piece)
        return;
    deflateEnd(&gzip->stream);
    gzip->memory->free(gzip->memory->ctx, gzip->piece);
    gzip->piece = NULL;
}
