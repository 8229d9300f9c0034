/* SPDX-License-Identifier: Apache-2.0 */
/* cprof.h: for programs that want to talk to the profiler they run under.
 *
 * The functions are weak: a program that calls them links and runs without the library. Test for it before the call:
 *
 *     if (cprof_dump) cprof_dump("after-loading.pb.gz");
 *
 * All may be called from any thread and from signal handlers. */
#ifndef CPROF_H
#define CPROF_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Records new blocks from now on (see CPROF_START=off), or no longer. Blocks recorded before stay known. */
void cprof_start(void) __attribute__((weak));
void cprof_stop(void) __attribute__((weak));

/* Writes the profile to `path`, or for NULL to the name made from CPROF_OUT, numbered. Returns 0, or -1 with errno set; EALREADY:
 * one is being written at this moment. */
int cprof_dump(const char *path) __attribute__((weak));

struct cprof_stats {
    uint64_t alloc_bytes;    /* asked for by successful calls since the process began; exact at every rate */
    uint64_t alloc_calls;    /* the calls; exact */
    uint64_t sampled_bytes;  /* of the recorded blocks, not scaled up */
    uint64_t sampled_blocks; /* recorded blocks */
    uint64_t dropped;        /* samples lost for want of memory */
    uint64_t own_bytes;      /* memory that the profiler holds for itself */
};

/* Returns 0, or -1 with errno ENODATA if this process is not being profiled (all fields are 0 then). */
int cprof_get_stats(struct cprof_stats *stats) __attribute__((weak));

#ifdef __cplusplus
}
#endif

#endif
