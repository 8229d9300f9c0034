/* SPDX-License-Identifier: Apache-2.0 */
/* What the format's code asks of its surroundings: memory and a place to write to.
 *
 * Role:    lets one encoder run inside a profiled process (private memory, raw system calls), in the tools (malloc,
 *          files) and in tests (failing on demand).
 * Callers: whoever calls profile_encode(). Neither struct is changed or kept past the call it is passed to.
 */
#ifndef CPROF_PROTO_PORT_H
#define CPROF_PROTO_PORT_H

#include <stddef.h>

/* Where memory comes from. `alloc` returns at least `size` bytes aligned for any type, with any content, or NULL when
 * there is none; that is always answered by -ENOMEM, never by giving up. `free` takes what `alloc` returned, never
 * NULL. Both may be called from one thread only, the one that is in the call. */
struct prof_memory {
    void *(*alloc)(void *ctx, size_t size);
    void (*free)(void *ctx, void *block);
    void *ctx;
};

/* Where bytes go. `write` takes all of `len` (> 0) bytes and returns 0, or a negative errno: then nothing more is
 * written and the error is passed on as it is. */
struct prof_sink {
    int (*write)(void *ctx, const void *bytes, size_t len);
    void *ctx;
};

#endif
