/* SPDX-License-Identifier: Apache-2.0 */
/* Exit codes of cprof, for all subcommands. The man page lists the same. */
#ifndef CPROF_TOOLS_EXITS_H
#define CPROF_TOOLS_EXITS_H

enum tool_exit {
    EXIT_OK = 0,      /* done, and nothing found amiss */
    EXIT_FAULT = 1,   /* a profile is not valid, or is over a limit that was given */
    EXIT_USAGE = 2,   /* the command line can't be understood */
    EXIT_INPUT = 3,   /* an input can't be read, is not what it should be, or lacks what the question needs */
    EXIT_OUTPUT = 4,  /* a result can't be written */
    EXIT_SYSTEM = 5,  /* memory, a process or another service of the system is not to be had */
    EXIT_PROCESS = 6, /* a process isn't there, isn't profiled, or is alive where it must not be */

    /* Of `cprof run`, as of env(1); otherwise its exit status is the program's. */
    EXIT_RUN_FAILED = 125,  /* it could not do its work, or the program can't be profiled */
    EXIT_RUN_CANNOT = 126,  /* the program can't be executed */
    EXIT_RUN_MISSING = 127, /* there is no such program */
};

/* Of two outcomes the one that the command exits with: the graver one has the larger number. */
static inline int exit_worse(int a, int b) {
    return a > b ? a : b;
}

#endif
