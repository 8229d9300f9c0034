/* SPDX-License-Identifier: Apache-2.0 */
/* A program that limits its own address space counts on what it has used itself. The segment's reservation is given back before
 * the limit is set. (One that is in force at the start is heeded when the segment is made.) */
#include <errno.h>
#include <stddef.h>
#include <sys/resource.h>

#include "preload/intercept/next.h"
#include "preload/record/segment.h"
#include "preload/record/sys.h"

/* The declarations are libc's, where the names may be macros for each other. */
#pragma GCC diagnostic ignored "-Wmissing-prototypes"
#define EXPORT __attribute__((visibility("default")))

/* Most programs set a round number. One that isn't was worked out from the address space in use, ours included, and is right
 * as it is: to give some back would let the program have that much more than it wanted. */
#define ROUND (1ul << 20)

static void before(int resource, const struct rlimit *limit) {
    if (resource == RLIMIT_AS && limit && limit->rlim_cur != RLIM_INFINITY && limit->rlim_cur % ROUND == 0)
        segment_shrink();
}

/* Called by somebody whom the lookup itself called. */
static int by_kernel(int pid, int resource, const struct rlimit *limit, struct rlimit *old) {
    long ret = sys4(SYS_prlimit64, pid, resource, limit, old);
    if (ret >= 0)
        return 0;
    errno = (int)-ret;
    return -1;
}

/* On x86-64 the forms for 64 bits are the same functions. */
#define SETRLIMIT(name)                                                                                                \
    EXPORT int cprof_##name(int resource, const struct rlimit *limit) __asm__(#name);                                  \
    int cprof_##name(int resource, const struct rlimit *limit) {                                                       \
        before(resource, limit);                                                                                       \
        return next_lookup() ? next.setrlimit(resource, limit) : by_kernel(0, resource, limit, NULL);                  \
    }
#define PRLIMIT(name)                                                                                                  \
    EXPORT int cprof_##name(int pid, int resource, const struct rlimit *limit, struct rlimit *old) __asm__(#name);     \
    int cprof_##name(int pid, int resource, const struct rlimit *limit, struct rlimit *old) {                          \
        before(resource, limit);                                                                                       \
        return next_lookup() ? next.prlimit(pid, resource, limit, old) : by_kernel(pid, resource, limit, old);         \
    }

SETRLIMIT(setrlimit)
SETRLIMIT(setrlimit64)
PRLIMIT(prlimit)
PRLIMIT(prlimit64)
