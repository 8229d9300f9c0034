/* SPDX-License-Identifier: Apache-2.0 */
/* The command: picks the subcommand and checks that its output arrived. */
#include "tools/help.h"
#include "tools/tool.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

const struct tool_command *const tool_commands[] = {
    &command_run,
    &command_doctor,
    &command_ls,
    &command_dump,
    &command_recover,
    &command_check,
    &command_symbolize,
    &command_flame,
    &command_top,
    &command_serve,
    &command_help,
    NULL,
};

const struct tool_command *tool_find_command(const char *name) {
    for (const struct tool_command *const *command = tool_commands; *command; command++)
        if (strcmp(name, (*command)->name) == 0)
            return *command;
    return NULL;
}

static int run(int argc, char **argv) {
    const char *name = argc > 1 ? argv[1] : NULL;
    if (!name) {
        fprintf(stderr, "Usage: cprof COMMAND [OPTION]... [ARGUMENT]...\nTry 'cprof --help'.\n");
        return EXIT_USAGE;
    }
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0) {
        help_print_list();
        return EXIT_OK;
    }
    if (strcmp(name, "--version") == 0) {
        printf("cprof %s\n", CPROF_VERSION);
        return EXIT_OK;
    }
    const struct tool_command *command = tool_find_command(name);
    if (command)
        return command->run(argc - 1, argv + 1);
    tool_error(name, "no such command");
    fprintf(stderr, "Try 'cprof --help'.\n");
    return EXIT_USAGE;
}

int main(int argc, char **argv) {
    int code = run(argc, argv);
    errno = 0;
    if (fflush(stdout) != 0 || ferror(stdout)) {
        tool_error("standard output", "%s", errno != 0 ? strerror(errno) : "can't be written");
        code = exit_worse(code, EXIT_OUTPUT);
    }
    return code;
}
