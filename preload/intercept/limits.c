/* SPDX-License-Identifier: Apache-2.0 */
#include "preload/intercept/limits.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <sys/resource.h>

#include "preload/intercept/next.h"
#include "preload/record/memory.h"
#include "preload/record/segment.h"
#include "preload/record/sys.h"
#include "preload/record/text.h"

/* ---- One that is in force at the start ---- */

/* Of the address space in use; 0 where there is no /proc. */
static uint64_t in_use(void) {
    char buf[64];
    const char *at = buf;
    uint64_t pages = 0;
    int fd = (int)sys_open("/proc/self/statm", O_RDONLY | O_CLOEXEC, 0);
    if (fd < 0)
        return 0;
    long n = sys_read(fd, buf, sizeof buf - 1);
    sys_close(fd);
    buf[n > 0 ? n : 0] = 0;
    return text_number(&at, &pages) ? pages * MEMORY_PAGE : 0;
}

int limits_share(struct limits_share *share) {
    struct rlimit limit;
    *share = (struct limits_share){.segment = UINT64_MAX, .records = UINT64_MAX};
    if (sys4(SYS_prlimit64, 0, RLIMIT_AS, 0, &limit) < 0 || limit.rlim_cur == RLIM_INFINITY)
        return 1;
    uint64_t used = in_use(), left = limit.rlim_cur > used ? limit.rlim_cur - used : 0;
    if (left < LIMITS_LEAST)
        return 0;
    share->segment = left / 16 > LIMITS_LEAST_SEGMENT ? left / 16 : LIMITS_LEAST_SEGMENT;
    share->records = left / LIMITS_SHARE - LIMITS_FIXED - share->segment;
    return 1;
}

/* ---- One that the program sets ---- */

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
