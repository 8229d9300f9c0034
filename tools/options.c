/* SPDX-License-Identifier: Apache-2.0 */
/* Parses options as a command's table has them. */
#include "tools/help.h"
#include "tools/tool.h"

#include <getopt.h>
#include <stdio.h>

#define OPTIONS_MAX 64

static const struct tool_option help_option = {'h', "help", NULL, "print this"};

/* The table as getopt takes it. */
struct parser {
    struct option options[OPTIONS_MAX + 1];
    char letters[2 * OPTIONS_MAX + 3];
    size_t options_count;
    size_t letters_count;
};

static void parser_add(struct parser *parser, const struct tool_option *option) {
    if (option->name && parser->options_count < OPTIONS_MAX)
        parser->options[parser->options_count++] =
            (struct option){option->name, option->argument ? required_argument : no_argument, NULL, option->id};
    if (option->id < TOOL_LONG && parser->letters_count < 2 * OPTIONS_MAX) {
        parser->letters[parser->letters_count++] = (char)option->id;
        if (option->argument)
            parser->letters[parser->letters_count++] = ':';
    }
}

static void parser_init(struct parser *parser, const struct tool_command *command) {
    *parser = (struct parser){0};
    if (command->options_first)
        parser->letters[parser->letters_count++] = '+';
    parser->letters[parser->letters_count++] = ':'; /* tells a missing argument from a wrong option */
    parser_add(parser, &help_option);
    for (const struct tool_option *option = command->options; option && (option->id != 0 || option->help); option++)
        if (option->id != 0)
            parser_add(parser, option);
}

static void complain(const struct parser *parser, int result, char *const *argv) {
    char letter[] = {'-', (char)optopt, '\0'};
    const char *given = optopt == 0 || optopt >= TOOL_LONG || argv[optind - 1][1] == '-' ? argv[optind - 1] : letter;
    bool known = false;
    for (size_t i = 0; i < parser->options_count; i++)
        known |= optopt != 0 && parser->options[i].val == optopt;
    if (result == ':')
        tool_error(given, "needs an argument");
    else
        tool_error(given, known ? "takes no argument" : "no such option");
}

int tool_next_option(const struct tool_command *command, int argc, char **argv, int *code) {
    struct parser parser;
    parser_init(&parser, command);
    opterr = 0;
    int result = getopt_long_only(argc, argv, parser.letters, parser.options, NULL);
    *code = EXIT_OK;
    if (result == -1)
        return 0;
    if (result == help_option.id) {
        help_print(command);
        return -1;
    }
    if (result != '?' && result != ':')
        return result;
    complain(&parser, result, argv);
    *code = tool_usage(command->name);
    return -1;
}
