/* SPDX-License-Identifier: Apache-2.0 */
/* Names for the addresses of a segment, each looked up once: entries of a segment are only ever added. */
#ifndef CPROF_TOOLS_LIVE_NAMES_H
#define CPROF_TOOLS_LIVE_NAMES_H

#include "tools/pattern.h"
#include "tools/segments.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct live_function {
    const char *name;
    bool dropped; /* its frames are not to be shown */
};

struct live_span {
    uint32_t first;
    uint32_t count; /* 0: not named yet */
};

struct live_names {
    bool lookup;   /* else only files and offsets */
    pid_t process; /* that they are of */
    struct live_function *functions;
    size_t function_count;
    uint32_t *slots; /* by hash of the name: index + 1 of a function */
    size_t slot_count;
    uint32_t *frames; /* functions of all addresses, one behind the other, inlined ones first */
    size_t frame_count;
    struct live_span *of_pc; /* those of an address */
    size_t pc_count;
    struct live_file *files; /* of modules, opened when first needed */
    size_t file_count;
    bool has_drop;
    struct pattern drop;
};

/* What is known of an address and its module, copied out of the segment. */
struct live_pc {
    uint64_t address;
    uint32_t module;
};

struct live_module {
    uint64_t start;
    uint64_t file_offset;
    char *path; /* for free() */
    char build_id[129];
};

void live_names_init(struct live_names *names, bool lookup);
void live_names_release(struct live_names *names);

/* Frames to be dropped: the expression of the profile's drop_frames. */
void live_names_set_drop(struct live_names *names, const char *expression);

/* Makes room for addresses. Returns 0 or -ENOMEM. */
int live_names_reserve(struct live_names *names, size_t pc_count);

/* Names an address, index `pc`, if it was not named before; it and its module must be whole. Returns 0 or -ENOMEM. */
int live_names_add(struct live_names *names, uint32_t pc, const struct live_pc *what, const struct live_module *modules,
                   size_t module_count);

/* The functions at an address that was named, the innermost first. */
static inline const uint32_t *live_names_of(const struct live_names *names, uint32_t pc, size_t *count) {
    if (pc >= names->pc_count) {
        *count = 0;
        return NULL;
    }
    *count = names->of_pc[pc].count;
    return names->frames + names->of_pc[pc].first;
}

#endif
