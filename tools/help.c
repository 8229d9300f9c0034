/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/help.h"

#include <stdio.h>
#include <string.h>

#define WIDTH 80u
#define COLUMN 24u /* where the options' texts begin */

/* Prints a text that begins at `column`, wrapped, further lines at `indent`. Lines that begin with a space are kept. */
static void print_wrapped(const char *text, size_t column, size_t indent) {
    bool kept = *text == ' ';
    while (*text) {
        size_t len = strcspn(text, kept ? "\n" : " \n");
        if (!kept && column > indent && column + 1 + len > WIDTH) {
            printf("\n%*s", (int)indent, "");
            column = indent;
        } else if (!kept && column > indent) {
            putchar(' ');
            column++;
        }
        printf("%.*s", (int)len, text);
        column += len;
        text += len;
        if (*text == '\n' && (text[1] == '\n' || text[1] == ' ' || kept)) {
            /* The end of a paragraph, or a line that is kept begins or ends. */
            for (; *text == '\n'; text++)
                putchar('\n');
            printf("%*s", *text ? (int)indent : 0, "");
            column = indent;
            kept = *text == ' ';
        } else if (*text) {
            text++;
        }
    }
    putchar('\n');
}

static size_t print_option_name(const struct tool_option *option) {
    int len = 2;
    if (option->id < TOOL_LONG)
        len += printf("  -%c%s", option->id, option->name ? "," : "") - 2;
    else
        len += printf("  ") - 2;
    if (option->name)
        len += printf("%s--%s", option->id < TOOL_LONG ? " " : "", option->name);
    if (option->argument)
        len += printf(" %s", option->argument);
    return (size_t)len;
}

static void print_option(const struct tool_option *option) {
    if (option->id == 0) {
        printf("\n");
        print_wrapped(option->help, 0, 0);
        return;
    }
    size_t len = print_option_name(option);
    if (len + 2 > COLUMN)
        printf("\n%*s", (int)COLUMN, "");
    else
        printf("%*s", (int)(COLUMN - len), "");
    print_wrapped(option->help, COLUMN, COLUMN);
}

void help_print(const struct tool_command *command) {
    static const struct tool_option help_option = {'h', "help", NULL, "print this"};
    printf("Usage: cprof %s %s\n", command->name, command->usage);
    print_wrapped(command->about, 0, 0);
    if (!command->options || command->options->id != 0)
        printf("\n");
    for (const struct tool_option *option = command->options; help_has_option(option); option++)
        print_option(option);
    print_option(&help_option);
    if (command->notes) {
        printf("\n");
        print_wrapped(command->notes, 0, 0);
    }
    printf("\nExit status:");
    print_wrapped(command->exits, strlen("Exit status:"), 0);
    for (const char *const *example = command->examples; example && *example; example++)
        printf("%s  %s\n", example == command->examples ? "\nExamples:\n" : "", *example);
}

void help_print_list(void) {
    printf("Usage: cprof COMMAND [OPTION]... [ARGUMENT]...\n"
           "Profiles of the heap, taken by libcprof.so.\n\n"
           "Commands:\n");
    for (const struct tool_command *const *command = tool_commands; *command; command++)
        printf("  %-11s %s\n", (*command)->name, (*command)->summary);
    printf("\n'cprof help COMMAND' tells more of one.\n\n"
           "  --help      print this\n"
           "  --version   print the version\n");
}

enum help_argument help_argument_kind(const char *argument) {
    if (!argument)
        return HELP_OTHER;
    if (strcmp(argument, "FILE") == 0 || strcmp(argument, "OUT") == 0 || strcmp(argument, "OLD") == 0)
        return HELP_FILE;
    if (strcmp(argument, "PID") == 0)
        return HELP_PID;
    if (strcmp(argument, "PROGRAM") == 0)
        return HELP_PROGRAM;
    return strchr(argument, '|') ? HELP_WORDS : HELP_OTHER;
}
