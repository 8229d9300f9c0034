/* SPDX-License-Identifier: Apache-2.0 */
/* The table of commands as people and shells read it.
 *
 * Role:  behind --help and `cprof help`, which also writes the parts of the man page that come from the table, and the
 *        completions. All print on stdout.
 */
#ifndef CPROF_TOOLS_HELP_H
#define CPROF_TOOLS_HELP_H

#include "tools/tool.h"

/* The list of commands. */
void help_print_list(void);

/* One command: how it is used, and what its options are. */
void help_print(const struct tool_command *command);

/* The man page's section of commands, in the macros of man(7). */
void help_print_man(void);

/* Completion for bash, and for zsh. */
void help_print_bash(void);
void help_print_zsh(void);

/* True if `entry` is not the end of a table of options. */
static inline bool help_has_option(const struct tool_option *entry) {
    return entry && (entry->id != 0 || entry->help);
}

/* What an argument's name stands for. */
enum help_argument { HELP_FILE, HELP_PID, HELP_PROGRAM, HELP_WORDS, HELP_OTHER };
enum help_argument help_argument_kind(const char *argument);

#endif
