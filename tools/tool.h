/* SPDX-License-Identifier: Apache-2.0 */
/* What the subcommands of cprof share.
 *
 * Role:    one file a subcommand, cmd_NAME.c, holds its options, its help and its printing; work that others could
 *          use as well goes to proto/ or to a file of its own here. The table of subcommands is in cprof.c.
 * Errors:  go to stderr as "cprof: THING: REASON", THING being a file, an option or a process; exits.h lists the codes.
 * Results: go to stdout. cprof.c checks that they got there.
 */
#ifndef CPROF_TOOLS_TOOL_H
#define CPROF_TOOLS_TOOL_H

#include "tools/exits.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tool_command {
    const char *name;
    const char *summary; /* for the list of commands: half a line, no full stop */
    /* argv[0] is the name; getopt's state is fresh. Returns an exit code. */
    int (*run)(int argc, char **argv);
};

/* Subcommands. */
int cmd_check(int argc, char **argv);
int cmd_symbolize(int argc, char **argv);

/* Says "cprof: THING: REASON" on stderr. */
void tool_error(const char *thing, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* For a subcommand's --help: prints the text on stdout and returns EXIT_OK. */
int tool_help(const char *help);

/* For a command line that is wrong, after a message: points to `cprof NAME --help` and returns EXIT_USAGE. */
int tool_usage(const char *name);

/* Reads a number of bytes: digits and K, M or G for powers of 1024, nothing else. False if it is none or too large. */
bool tool_parse_bytes(const char *text, uint64_t *bytes);

#endif
