/* SPDX-License-Identifier: Apache-2.0 */
/* Looking names up, in a process of its own: however large or broken a file is, the server goes on, keeps its memory,
 * and is not held up.
 *
 * Bounds:  after WORKER_SECONDS the process leaves out the rest, after WORKER_SECONDS_MOST it is killed; it may take
 *          WORKER_MEMORY. What it could not get through, for lack of memory or for a fault, is not tried again.
 * One at a time. */
#ifndef CPROF_TOOLS_SERVE_WORKER_H
#define CPROF_TOOLS_SERVE_WORKER_H

#include "tools/serve_names.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define WORKER_SECONDS 20u
#define WORKER_SECONDS_MOST 30u
#define WORKER_MEMORY (UINT64_C(2) << 30)

/* All zero: idle. */
struct worker {
    pid_t pid; /* 0: idle */
    int fd;    /* to be read from; does not block */
    struct names_list list;
    size_t next; /* what it is at */
    unsigned char *bytes;
    size_t len, room;
    uint64_t end_ns; /* when to kill it */
};

/* Has what is on the list looked up; the list is taken over in any case. Returns 0 or a negative errno. */
int worker_start(struct worker *worker, struct names_list *list);

/* Puts what has come into the cache. True if it is idle now. */
bool worker_read(struct worker *worker, struct name_cache *cache);

/* Ends it, if it is at work. With `cache` what it was at is given up. */
void worker_end(struct worker *worker, struct name_cache *cache);

#endif
