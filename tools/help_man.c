/* SPDX-License-Identifier: Apache-2.0 */
/* The section of cprof(1) that the table of commands gives, in the macros of man(7). */
#include "tools/help.h"

#include <stdio.h>
#include <string.h>

/* One character of running text; nothing of it may be taken for a request or an escape. */
static void put(char c) {
    if (c == '\\')
        fputs("\\e", stdout);
    else if (c == '-' || c == '\'' || c == '^' || c == '~' || c == '`')
        printf("%s", c == '-' ? "\\-" : c == '\'' ? "\\(aq" : c == '^' ? "\\(ha" : c == '~' ? "\\(ti" : "\\(ga");
    else
        putchar(c);
}

static void put_line(const char *text, size_t len) {
    if (len > 0 && *text == '.')
        fputs("\\&", stdout);
    for (size_t i = 0; i < len; i++)
        put(text[i]);
    putchar('\n');
}

/* Paragraphs, and lines that begin with a space and stay as they are. */
static void print_text(const char *text) {
    bool kept = false;
    while (*text) {
        size_t len = strcspn(text, "\n");
        if (*text == ' ' && !kept)
            printf(".PP\n.nf\n");
        else if (*text != ' ' && kept)
            printf(".fi\n.PP\n");
        else if (len == 0)
            printf(".PP\n");
        kept = *text == ' ';
        if (len > 0)
            put_line(text, len);
        text += len + (text[len] == '\n');
    }
    if (kept)
        printf(".fi\n");
}

/* A word in a font. */
static void print_font(const char *font, const char *text) {
    printf("\\f%s", font);
    for (; *text; text++)
        put(*text);
    printf("\\fR");
}

static void print_option(const struct tool_option *option) {
    char letter[] = {'-', option->id < TOOL_LONG ? (char)option->id : '\0', '\0'};
    if (option->id == 0) {
        printf(".PP\n");
        put_line(option->help, strlen(option->help));
        return;
    }
    printf(".TP\n");
    if (letter[1])
        print_font("B", letter);
    if (option->name) {
        printf("%s", letter[1] ? ", " : "");
        print_font("B", "--");
        print_font("B", option->name);
    }
    if (option->argument) {
        printf(" ");
        print_font(strchr(option->argument, '|') ? "R" : "I", option->argument);
    }
    printf("\n");
    put_line(option->help, strlen(option->help));
}

void help_print_man(void) {
    printf(".SH COMMANDS\nEach takes \\fB\\-\\-help\\fR. Options may also be written with one dash.\n");
    for (const struct tool_command *const *at = tool_commands; *at; at++) {
        const struct tool_command *command = *at;
        printf(".SS cprof ");
        print_font("B", command->name);
        printf(" ");
        put_line(command->usage, strlen(command->usage));
        print_text(command->about);
        for (const struct tool_option *option = command->options; help_has_option(option); option++)
            print_option(option);
        if (command->notes) {
            printf(".PP\n");
            print_text(command->notes);
        }
        printf(".PP\nExit status: ");
        put_line(command->exits, strlen(command->exits));
        if (command->examples)
            printf(".PP\n.nf\n");
        for (const char *const *example = command->examples; example && *example; example++) {
            printf("    ");
            put_line(*example, strlen(*example));
        }
        if (command->examples)
            printf(".fi\n");
    }
}
