/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a program can be profiled, and what will not be seen of it.
 *
 * Role:    `cprof run` asks before it starts a program; `cprof doctor` tells all there is to tell.
 * Model:   what the loader will do: a program is found as execvp finds it, a script stands for its interpreter, and
 *          LD_PRELOAD works where glibc's loader maps the program and trusts its caller. */
#ifndef CPROF_TOOLS_EXPLAIN_H
#define CPROF_TOOLS_EXPLAIN_H

#include "tools/explain_elf.h"

#include <limits.h>
#include <stdbool.h>

enum explain_verdict {
    EXPLAIN_FINE,
    EXPLAIN_UNSEEN,  /* it would run, and nothing of it would be seen */
    EXPLAIN_CANNOT,  /* it can't be executed */
    EXPLAIN_MISSING, /* there is none */
};

#define EXPLAIN_SCRIPTS_MAX 4u
#define EXPLAIN_REASON_MAX 256u

struct explanation {
    enum explain_verdict verdict;
    char reason[EXPLAIN_REASON_MAX];             /* if it is not fine: for people */
    char path[PATH_MAX];                         /* what was found */
    char scripts[EXPLAIN_SCRIPTS_MAX][PATH_MAX]; /* scripts on the way to what is executed */
    unsigned script_count;
    char program[PATH_MAX]; /* what is executed in the end */
    struct elf_facts elf;   /* of that */
};

/* Looks at the program that is found by `name`. */
void explain_program(struct explanation *explanation, const char *name);

/* Why `path` would run with more rights than its caller, so that the loader takes no orders from the environment; NULL
 * if it would not. */
const char *explain_privileged(const char *path);

/* True if it is a script whose first line has env start the interpreter, which then has a profile of its own. */
bool explain_is_env(const struct explanation *explanation);

/* Path of libcprof.so: CPROF_LIB, or beside this command, or in ../lib/cprof or ../lib of where it is. False, with what
 * was looked at last in `path` and why it can't be preloaded in `reason`, if it isn't there, or is of no use. */
bool explain_library(char path[PATH_MAX], char reason[EXPLAIN_REASON_MAX]);

#endif
