/* SPDX-License-Identifier: Apache-2.0 */
/* Completion for shells, from the table of commands. */
#include "tools/help.h"

#include <stdio.h>
#include <string.h>

/* ---- bash ---- */

static const char *bash_compgen(const char *argument) {
    switch (help_argument_kind(argument)) {
    case HELP_FILE:
        return "-f";
    case HELP_PROGRAM:
        return "-cf"; /* its arguments may be files */
    case HELP_PID:
        return "-W \"$(cd /proc && printf '%s ' [0-9]*)\"";
    default:
        return NULL;
    }
}

/* a|b|c as a b c. */
static void print_words(const char *argument) {
    for (; *argument; argument++)
        putchar(*argument == '|' ? ' ' : *argument);
}

static void print_commands(void) {
    for (const struct tool_command *const *command = tool_commands; *command; command++)
        printf("%s%s", command == tool_commands ? "" : " ", (*command)->name);
}

/* What follows an option that takes an argument. */
static void bash_argument(const struct tool_option *option) {
    const char *compgen = bash_compgen(option->argument);
    printf("        ");
    if (option->id < TOOL_LONG)
        printf("-%c%s", option->id, option->name ? " | " : "");
    if (option->name)
        printf("--%s", option->name);
    printf(") ");
    if (help_argument_kind(option->argument) == HELP_WORDS) {
        printf("COMPREPLY=($(compgen -W '");
        print_words(option->argument);
        printf("' -- \"$word\")); ");
    } else if (compgen) {
        printf("COMPREPLY=($(compgen %s -- \"$word\")); ", compgen);
    }
    printf("return ;;\n");
}

static void bash_command(const struct tool_command *command) {
    printf("    %s)\n        options='--help", command->name);
    for (const struct tool_option *option = command->options; help_has_option(option); option++)
        if (option->name)
            printf(" --%s", option->name);
    printf("'\n        case $before in\n");
    for (const struct tool_option *option = command->options; help_has_option(option); option++)
        if (option->argument)
            bash_argument(option);
    printf("        esac\n");
    const char *compgen = command->operand ? bash_compgen(command->operand) : NULL;
    if (compgen)
        printf("        [[ $word == -* ]] || COMPREPLY=($(compgen %s -- \"$word\"))\n", compgen);
    else if (command->operand && strcmp(command->operand, "COMMAND") == 0)
        printf("        [[ $word == -* ]] || COMPREPLY=($(compgen -W \"$commands\" -- \"$word\"))\n");
    printf("        ;;\n");
}

void help_print_bash(void) {
    printf("# Completion of cprof's command lines for bash; written by cprof help --completion bash.\n"
           "_cprof() {\n"
           "    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} options='' commands='");
    print_commands();
    printf("'\n"
           "    COMPREPLY=()\n"
           "    if ((COMP_CWORD == 1)); then\n"
           "        COMPREPLY=($(compgen -W \"$commands --help --version\" -- \"$word\"))\n"
           "        return\n"
           "    fi\n"
           "    case ${COMP_WORDS[1]} in\n");
    for (const struct tool_command *const *command = tool_commands; *command; command++)
        bash_command(*command);
    printf("    esac\n"
           "    [[ $word != -* ]] || COMPREPLY=($(compgen -W \"$options\" -- \"$word\"))\n"
           "}\n"
           "complete -o filenames -F _cprof cprof\n");
}

/* ---- zsh ---- */

/* A text inside '...' and, there, inside [...] of a specification of _arguments: what comes before the details. */
static void zsh_text(const char *text) {
    for (; *text && strncmp(text, "; ", 2) != 0 && strncmp(text, ". ", 2) != 0 && strncmp(text, " (", 2) != 0; text++)
        if (*text == '\'')
            fputs("'\\''", stdout);
        else if (strchr("[]:\\", *text))
            printf("\\%c", *text);
        else
            putchar(*text);
}

static void zsh_action(const char *argument) {
    switch (help_argument_kind(argument)) {
    case HELP_FILE:
        printf("_files");
        break;
    case HELP_PROGRAM:
        printf("_command_names -e");
        break;
    case HELP_PID:
        printf("_pids");
        break;
    case HELP_WORDS:
        printf("(");
        print_words(argument);
        printf(")");
        break;
    case HELP_OTHER:
        printf("%s", strcmp(argument, "COMMAND") == 0 ? "_cprof_commands" : " ");
        break;
    }
}

static void zsh_spec(const char *dashes, const char *name, const struct tool_option *option) {
    printf(" \\\n            '*%s%s[", dashes, name);
    zsh_text(option->help);
    printf("]");
    if (option->argument) {
        printf(":");
        zsh_text(help_argument_kind(option->argument) == HELP_WORDS ? "one of" : option->argument);
        printf(":");
        zsh_action(option->argument);
    }
    printf("'");
}

static void zsh_command(const struct tool_command *command) {
    printf("    %s)\n        _arguments '--help[print this]'", command->name);
    for (const struct tool_option *option = command->options; help_has_option(option); option++) {
        char letter[] = {option->id < TOOL_LONG ? (char)option->id : '\0', '\0'};
        if (letter[0])
            zsh_spec("-", letter, option);
        if (option->name)
            zsh_spec("--", option->name, option);
    }
    if (command->operand) {
        printf(" \\\n            '%s:%s:", command->options_first ? "1" : "*", command->operand);
        zsh_action(command->operand);
        printf("'");
        if (command->options_first)
            printf(" '*::argument:_normal'");
    }
    printf("\n        ;;\n");
}

void help_print_zsh(void) {
    printf("#compdef cprof\n"
           "# Completion of cprof's command lines for zsh; written by cprof help --completion zsh.\n"
           "_cprof_commands() {\n"
           "    local -a commands=(");
    for (const struct tool_command *const *command = tool_commands; *command; command++) {
        printf("\n        '%s:", (*command)->name);
        zsh_text((*command)->summary);
        printf("'");
    }
    printf(")\n"
           "    _describe command commands\n"
           "}\n\n"
           "_cprof() {\n"
           "    if ((CURRENT == 2)); then\n"
           "        _cprof_commands\n"
           "        return\n"
           "    fi\n"
           "    local command=$words[2]\n"
           "    shift words\n"
           "    ((CURRENT--))\n"
           "    case $command in\n");
    for (const struct tool_command *const *command = tool_commands; *command; command++)
        zsh_command(*command);
    printf("    esac\n"
           "}\n\n"
           "_cprof \"$@\"\n");
}
