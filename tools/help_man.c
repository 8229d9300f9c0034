/* SPDX-License-Identifier: Apache-2.0 */
/* The section of cprof(1) that the table of commands gives, in the macros of man(7). */
#include "tools/help.h"

#include "proto/utf8.h"

#include <stdio.h>
#include <string.h>

/* A character of running text, of which it returns the length. Nothing may be taken for a request or an escape, and
 * what is not ASCII is named, since troff reads bytes. */
static size_t put(const char *at) {
    const unsigned char *bytes = (const unsigned char *)at;
    size_t n = utf8_character(bytes, strlen(at));
    if (n > 1) {
        unsigned code = bytes[0] & (0x7fu >> n);
        for (size_t i = 1; i < n; i++)
            code = code << 6 | (bytes[i] & 0x3fu);
        printf("\\[u%04X]", code);
        return n;
    }
    switch (*at) {
    case '\\':
        fputs("\\e", stdout);
        break;
    case '-':
        fputs("\\-", stdout);
        break;
    case '\'':
        fputs("\\(aq", stdout);
        break;
    case '^':
        fputs("\\(ha", stdout);
        break;
    case '~':
        fputs("\\(ti", stdout);
        break;
    case '`':
        fputs("\\(ga", stdout);
        break;
    default:
        putchar(*at);
    }
    return 1;
}

static void put_line(const char *text, size_t len) {
    if (len > 0 && *text == '.')
        fputs("\\&", stdout);
    for (size_t i = 0; i < len;)
        i += put(text + i);
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
    while (*text)
        text += put(text);
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
