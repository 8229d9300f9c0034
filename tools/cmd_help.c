/* SPDX-License-Identifier: Apache-2.0 */
/* cprof help: what the commands are, for people, for man and for shells. */
#include "tools/help.h"
#include "tools/tool.h"

#include <getopt.h>
#include <string.h>

enum { OPTION_MAN = TOOL_LONG, OPTION_COMPLETION };

static const struct tool_option options[] = {
    {OPTION_COMPLETION, "completion", "bash|zsh", "print what makes the shell complete cprof's command lines"},
    {OPTION_MAN, "man", NULL, "print the section of the man page that is about the commands"},
    {0},
};

static int run(int argc, char **argv) {
    int option, code;
    while ((option = tool_next_option(&command_help, argc, argv, &code)) > 0) {
        if (option == OPTION_MAN) {
            help_print_man();
        } else if (strcmp(optarg, "bash") == 0) {
            help_print_bash();
        } else if (strcmp(optarg, "zsh") == 0) {
            help_print_zsh();
        } else {
            tool_error(optarg, "not a shell that is known; bash and zsh are");
            return tool_usage("help");
        }
        return EXIT_OK;
    }
    if (option < 0)
        return code;
    if (optind == argc)
        help_print_list();
    for (int i = optind; i < argc; i++) {
        const struct tool_command *command = tool_find_command(argv[i]);
        if (!command) {
            tool_error(argv[i], "no such command");
            return tool_usage("help");
        }
        help_print(command);
    }
    return EXIT_OK;
}

const struct tool_command command_help = {
    .name = "help",
    .summary = "tell more of a command",
    .usage = "[OPTION] [COMMAND]...",
    .operand = "COMMAND",
    .about = "Print how commands are used, or the list of them.",
    .options = options,
    .exits = "0 done, 2 usage.",
    .examples = (const char *const[]){"cprof help symbolize", NULL},
    .run = run,
};
