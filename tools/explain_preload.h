/* SPDX-License-Identifier: Apache-2.0 */
/* What LD_PRELOAD means for whose malloc is called. */
#ifndef CPROF_TOOLS_EXPLAIN_PRELOAD_H
#define CPROF_TOOLS_EXPLAIN_PRELOAD_H

#include <limits.h>
#include <stdbool.h>

enum preload_place {
    PRELOAD_NONE,   /* no allocator is preloaded */
    PRELOAD_BEFORE, /* one is, and stands before libcprof.so: it gets the calls that we should see */
    PRELOAD_BEHIND, /* one is, and libcprof.so comes first, or will when `cprof run` puts it there */
};

/* Finds the first allocator in LD_PRELOAD; its name goes to `name`, as it is given there. */
enum preload_place explain_preload(char name[PATH_MAX]);

/* True of the usual allocators' libraries. */
bool explain_is_allocator(const char *library);

#endif
