/* SPDX-License-Identifier: Apache-2.0 */
/* When a profile is written: at the end, on a signal, every so often, when the program asks. */
#ifndef CPROF_INTERCEPT_DUMP_H
#define CPROF_INTERCEPT_DUMP_H

#include "preload/intercept/config.h"

/* The process has put itself under a filter of system calls (entry.S sets it). Opening a file may now end it, so nothing is
 * written any more; the segment stays, for `cprof recover`. */
extern int life_sandboxed HIDDEN;

/* Arms what the settings ask for. */
void dump_init(const struct config *c);

/* The process is about to end: the last profile, once. */
void dump_at_end(void);

/* The same before the process becomes another program, and if it then did not. */
void dump_before_exec(void);
void dump_exec_failed(void);

#endif
