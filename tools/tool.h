/* SPDX-License-Identifier: Apache-2.0 */
/* What the subcommands of cprof share.
 *
 * Role:    one file a subcommand, cmd_NAME.c, holds its description, command_NAME, and its printing; work that others
 *          could use as well goes to proto/ or to a file of its own here. The table of subcommands is in cprof.c.
 * Help:    an option is described once, in its command's table: that is what is parsed, what --help prints, what the
 *          man page says and what shells complete.
 * Errors:  go to stderr as "cprof: THING: REASON", THING being a file, an option or a process; exits.h lists the codes.
 * Results: go to stdout. cprof.c checks that they got there.
 */
#ifndef CPROF_TOOLS_TOOL_H
#define CPROF_TOOLS_TOOL_H

#include "tools/exits.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Ids of options that have no letter start here. */
#define TOOL_LONG 256

/* An option. Texts are wrapped when they are printed. An entry with a help text alone is a heading; one with nothing
 * ends the table. --help is understood and listed without being in it. */
struct tool_option {
    int id;               /* of one option, in one command; the letter of -o, or TOOL_LONG and more */
    const char *name;     /* "output" for --output; NULL: only a letter */
    const char *argument; /* NULL: takes none. FILE, OUT, OLD are files, PID a process, a|b|c words: for completion */
    const char *help;     /* no full stop at the end */
};

/* A subcommand. In its longer texts an empty line ("\n\n") separates paragraphs, and a line that begins with a space
 * stays as it is. */
struct tool_command {
    const char *name;
    const char *summary;               /* for the list of commands: half a line, no full stop */
    const char *usage;                 /* what follows the name: "[OPTION]... FILE" */
    const char *operand;               /* what completion offers: "FILE", "PID", "PROGRAM" or NULL */
    const char *about;                 /* what it does */
    const struct tool_option *options; /* or NULL */
    const char *notes;                 /* what else there is to know, or NULL */
    const char *exits;                 /* "0 all is well, 2 usage, ..." */
    const char *const *examples;       /* command lines, ended by NULL. The man page's are run by a test */
    bool options_first;                /* options end at the first operand, as those of another program follow */
    /* argv[0] is the name; getopt's state is fresh. Returns an exit code. */
    int (*run)(int argc, char **argv);
};

/* Subcommands. */
extern const struct tool_command command_check;
extern const struct tool_command command_doctor;
extern const struct tool_command command_dump;
extern const struct tool_command command_flame;
extern const struct tool_command command_help;
extern const struct tool_command command_ls;
extern const struct tool_command command_recover;
extern const struct tool_command command_run;
extern const struct tool_command command_serve;
extern const struct tool_command command_symbolize;
extern const struct tool_command command_top;

/* All of them, in the order in which they are listed; ended by NULL. */
extern const struct tool_command *const tool_commands[];
const struct tool_command *tool_find_command(const char *name);

/* Parses the next option: returns its id, with its argument in optarg; 0 after the last, with optind at the first
 * operand; or -1 when the command is to return *code, as help was printed or a message was. Long options may be given
 * with one dash, as pprof takes them. */
int tool_next_option(const struct tool_command *command, int argc, char **argv, int *code);

/* Says "cprof: THING: REASON" on stderr. */
void tool_error(const char *thing, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Takes one of several options that exclude each other, `chosen` being the one that was given before, NULL at first.
 * False, after a message, if that was another. The option must outlive it. */
bool tool_choose(const char **chosen, const char *option);

/* For a command line that is wrong, after a message: points to `cprof NAME --help` and returns EXIT_USAGE. */
int tool_usage(const char *name);

/* Reads a number of bytes: digits and K, M or G for powers of 1024, nothing else. False if it is none or too large. */
bool tool_parse_bytes(const char *text, uint64_t *bytes);

#endif
