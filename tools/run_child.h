/* SPDX-License-Identifier: Apache-2.0 */
/* Starting a program and standing in for it: what happens to this process happens to the program, and what becomes of
 * the program becomes of this process.
 *
 * The program gets standard streams, descriptors, terminal, process group, session, signal mask and dispositions,
 * limits and timers' signals as they came. It is a child, and in the foreground if we are. It is not made to be reaped
 * here: its own orphans go where they would have gone. Signals: a terminal sends them to the whole group, so they are
 * not sent on; all others are. Those that stop a process are left to the terminal.
 * SIGKILL: can't be passed on, and the kernel is not asked to (PR_SET_PDEATHSIG): a server is not to fall over because
 * the OOM killer, or somebody tidying up, took the profiler that stands before it. It goes on, as under sudo, and
 * writes its profile when it ends; only what `cprof run` would have done afterwards is left to `cprof recover`. */
#ifndef CPROF_TOOLS_RUN_CHILD_H
#define CPROF_TOOLS_RUN_CHILD_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct run_child {
    pid_t pid;
    uint64_t start_ticks;
    int status;     /* as of waitpid, once it ended */
    int exec_error; /* errno if it could not be executed, else 0 */
};

struct run_child_how {
    bool silent;
    void (*forked)(void *ctx, const struct run_child *child); /* NULL, or called while descriptors are still open */
    void *ctx;
};

/* Starts argv[0] as execvp would, with `variables` ("NAME=VALUE", ended by NULL) put into its environment. Afterwards
 * this process has no descriptors open but standard error's, and not that either if how->silent. Returns 0 or a negative
 * errno; that it can't be executed is in exec_error. */
int run_child_start(struct run_child *child, char **argv, char *const *variables, const struct run_child_how *how);

/* Waits for its end and passes signals on. If `each_second` is not NULL it is called about that often. */
void run_child_wait(struct run_child *child, void (*each_second)(pid_t pid));

/* Ends as the program did: by the same signal, without dumping core, or by returning its exit status. */
int run_child_end_like(const struct run_child *child);

#endif
