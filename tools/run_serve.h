/* SPDX-License-Identifier: Apache-2.0 */
/* cprof run --serve: the server of `cprof serve` for the processes of one run.
 *
 * Life:    it listens before the program is started, so that what is wrong with the address keeps the program from
 *          being run. It ends with the last process of the run: `cprof run` itself does not wait for those that the
 *          program leaves behind, and the server goes on for them, as it does when
 *          `cprof run` was killed under the program.
 * Process: a child of `cprof run`, in a session of its own: what a terminal or a supervisor sends to the group is for
 *          the program, whose end is the server's. It keeps no stream of the program's open. */
#ifndef CPROF_TOOLS_RUN_SERVE_H
#define CPROF_TOOLS_RUN_SERVE_H

#include "tools/run_child.h"
#include "tools/run_report.h"
#include "tools/serve.h"

#include <stdbool.h>
#include <sys/types.h>

struct run_serve {
    const char *address; /* NULL: no server */
    bool remote;
    struct server server;
    int listener;
    pid_t pid; /* 0: not started */
};

/* Listens, and says on standard error where. False, after a message, if that can't be done. */
bool run_serve_listen(struct run_serve *serve);

/* Starts the server, for the processes that `report` takes for the run's. */
void run_serve_start(struct run_serve *serve, const struct run_report *report, const struct run_child *child);

/* After the end of the program: ends the server, unless it is to go on. */
void run_serve_end(struct run_serve *serve, bool go_on);

#endif
