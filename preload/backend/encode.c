/* SPDX-License-Identifier: Apache-2.0 */
#include "preload/backend/backend.h"
#include "preload/backend/unwind.h"
#include "proto/encode.h"

static int encode(const void *segment, size_t len, uint64_t now_mono_ns, int peak, void *(*alloc)(void *, size_t),
                  void (*release)(void *, void *), int (*write)(void *, const void *, size_t), void *ctx) {
    struct segment_view view;
    struct encode_options options = {.now_mono_ns = now_mono_ns, .peak = peak != 0};
    struct prof_memory memory = {.alloc = alloc, .free = release, .ctx = ctx};
    struct prof_sink sink = {.write = write, .ctx = ctx};
    int ret = segment_view_open(&view, segment, len);
    return ret ? ret : profile_encode(&view, &options, &memory, &sink);
}

__attribute__((visibility("default"))) extern const struct backend cprof_backend;
const struct backend cprof_backend = {.version = BACKEND_VERSION, .step = unwind_step, .encode = encode};
