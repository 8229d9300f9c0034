/* SPDX-License-Identifier: Apache-2.0 */
/* What libcprof.so asks of its backend, libcprof-backend.so: all that needs libunwind, protobuf-c or zlib.
 *
 * The backend is a library of its own, loaded privately, so that the program's search order never shows those libraries: they
 * export names that programs use too (_Unwind_RaiseException, deflate). It exports one object, of this type. */
#ifndef CPROF_BACKEND_BACKEND_H
#define CPROF_BACKEND_BACKEND_H

#include <stddef.h>
#include <stdint.h>

#include "preload/record/walk.h"

#define BACKEND_SYMBOL "cprof_backend"
#define BACKEND_VERSION 1u

struct backend {
    uint32_t version;

    /* One frame up by libunwind; see walk_rare in walk.h. */
    int (*step)(struct registers *r, int (*readable)(void *ctx, uintptr_t at), void *ctx);

    /* Writes the profile of a segment, gzipped, to `write` (0 or -errno). Memory comes from `alloc`. 0 or -errno. */
    int (*encode)(const void *segment, size_t len, uint64_t now_mono_ns, int peak, void *(*alloc)(void *ctx, size_t),
                  void (*release)(void *ctx, void *), int (*write)(void *ctx, const void *buf, size_t len), void *ctx);
};

#endif
