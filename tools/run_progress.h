/* SPDX-License-Identifier: Apache-2.0 */
/* The line that `cprof run --progress` keeps on the terminal. */
#ifndef CPROF_TOOLS_RUN_PROGRESS_H
#define CPROF_TOOLS_RUN_PROGRESS_H

#include <sys/types.h>

/* Writes what the process has allocated and has in use by now over what the line said before. */
void run_progress(pid_t pid);

/* Takes the line away. */
void run_progress_end(void);

#endif
