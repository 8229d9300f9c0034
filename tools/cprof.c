/* SPDX-License-Identifier: Apache-2.0 */
/* The command: picks the subcommand and checks that its output arrived. */
#include "tools/tool.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>

static const struct tool_command commands[] = {
    {"check", "say whether profiles are valid and within limits", cmd_check},
    {"symbolize", "put names, files and lines into a profile", cmd_symbolize},
};

static int help(void) {
    printf("Usage: cprof COMMAND [OPTION]... [ARGUMENT]...\n"
           "Profiles of the heap, taken by libcprof.so.\n\n"
           "Commands:\n");
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++)
        printf("  %-11s %s\n", commands[i].name, commands[i].summary);
    printf("\n'cprof COMMAND --help' tells more of one.\n\n"
           "  --help     print this\n"
           "  --version  print the version\n");
    return EXIT_OK;
}

static int run(int argc, char **argv) {
    const char *name = argc > 1 ? argv[1] : NULL;
    if (!name) {
        fprintf(stderr, "Usage: cprof COMMAND [OPTION]... [ARGUMENT]...\nTry 'cprof --help'.\n");
        return EXIT_USAGE;
    }
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || strcmp(name, "help") == 0)
        return help();
    if (strcmp(name, "--version") == 0) {
        printf("cprof %s\n", CPROF_VERSION);
        return EXIT_OK;
    }
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++)
        if (strcmp(name, commands[i].name) == 0)
            return commands[i].run(argc - 1, argv + 1);
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
