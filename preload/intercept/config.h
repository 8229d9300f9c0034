/* SPDX-License-Identifier: Apache-2.0 */
/* The settings: one table (config.c) of names, meanings and defaults, read once from the environment the program was started
 * with. A value that can't be read, or a CPROF_ name that does not exist, gets one line on stderr; the default is used. */
#ifndef CPROF_INTERCEPT_CONFIG_H
#define CPROF_INTERCEPT_CONFIG_H

#include <stdint.h>

#include "preload/record/atomic.h"

#define CONFIG_TEXT 4096

struct config {
    uint64_t rate;           /* mean bytes between samples; 1: everything, 0: only forward */
    uint64_t depth;          /* most frames shown of a stack */
    uint64_t unwind;         /* enum walk_mode */
    uint64_t signal;         /* number of the signal that dumps; 0: none */
    uint64_t interval;       /* nanoseconds between dumps; 0: none */
    uint64_t interval_bytes; /* bytes allocated between dumps; 0: none */
    uint64_t peak;           /* keep the profile of the peak too */
    uint64_t start;          /* record from the start on */
    uint64_t follow_fork;    /* profile forked children */
    uint64_t symbolize;      /* start `cprof symbolize` on what was written */
    uint64_t max_memory;     /* bytes for our own records */
    uint64_t seed;           /* of the random numbers; 0: from the kernel */
    uint64_t log;            /* enum log_level */
    char out[CONFIG_TEXT];   /* file name template */
    char only[CONFIG_TEXT];  /* patterns of executables' names; empty: all */
    char drop_frames[CONFIG_TEXT];
};
extern struct config config HIDDEN;

/* Reads the environment `env` (NULL-terminated). */
void config_read(char *const *env);

#endif
