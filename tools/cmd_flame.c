/* SPDX-License-Identifier: Apache-2.0 */
/* cprof flame: a profile as a flame graph. */
#include "tools/flame.h"
#include "tools/save.h"
#include "tools/select.h"
#include "tools/tool.h"

#include "proto/reader.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A page of this many frames is 10 MB, and as many as anybody looks at. */
#define NODES_DEFAULT 200000u

enum { OPTION_COLLAPSED = TOOL_LONG, OPTION_SVG, OPTION_NODES };

static const struct tool_option options[] = {
    {'o', "output", "OUT", "write to OUT, - being standard output; FILE.html or FILE.svg if not given"},
    {OPTION_SVG, "svg", NULL, "write a picture instead of a page"},
    {OPTION_COLLAPSED, "collapsed", NULL,
     "print the stacks as lines of text, ROOT;...;LEAF VALUE, as other programs for flame graphs read them"},
    {OPTION_NODES, "nodes", "N", "put at most about N frames on a page, the smallest being folded; 200000"},
    SELECT_OPTIONS,
    {0},
};

enum form { FORM_PAGE, FORM_SVG, FORM_COLLAPSED };

struct command_line {
    struct select select;
    const char *output; /* NULL: by the first file's name */
    enum form form;
    const char *form_option; /* that said so */
    size_t nodes;
};

/* ---- Notes for the page ---- */

#define NOTES_MAX (SELECT_FILTERS + 2)

struct notes {
    char *lines[NOTES_MAX + 1];
    size_t count;
};

__attribute__((format(printf, 2, 3))) static void add_note(struct notes *notes, const char *format, ...) {
    va_list args;
    va_start(args, format);
    if (notes->count < NOTES_MAX && vasprintf(&notes->lines[notes->count], format, args) >= 0)
        notes->count++;
    va_end(args);
    notes->lines[notes->count] = NULL;
}

/* What is not shown must be said. */
static void note_selection(struct notes *notes, const struct select *select) {
    static const char *const what[SELECT_FILTERS] = {"Only samples with a frame that matches",
                                                     "No samples with a frame that matches",
                                                     "No frames that match",
                                                     "Only frames that match",
                                                     "Only samples with a label that matches",
                                                     "No samples with a label that matches"};
    for (size_t i = 0; i < SELECT_FILTERS; i++)
        if (select->filters[i].text)
            add_note(notes, "%s: %s", what[i], select->filters[i].text);
}

/* ---- Writing ---- */

struct work {
    const struct command_line *line;
    const struct flame *flame;
    struct flame_about about;
};

static int print(const void *what, int fd) {
    const struct work *work = what;
    int copy = dup(fd);
    FILE *out = copy >= 0 ? fdopen(copy, "w") : NULL;
    if (!out)
        return -errno;
    errno = EIO; /* if the stream does not tell why */
    int rc = work->line->form == FORM_PAGE  ? flame_print_page(out, work->flame, &work->about)
             : work->line->form == FORM_SVG ? flame_print_svg(out, work->flame, &work->about)
                                            : flame_print_folded(out, work->flame, work->about.type);
    if (rc == 0 && (ferror(out) || fflush(out) != 0))
        rc = -errno;
    if (fclose(out) != 0 && rc == 0)
        rc = -errno;
    return rc;
}

/* Where the result goes, for free(); NULL without memory. */
static char *output_name(const struct command_line *line, const char *file) {
    char *name;
    if (line->output || line->form == FORM_COLLAPSED || strcmp(file, "-") == 0)
        return strdup(line->output ? line->output : "-");
    return asprintf(&name, "%s.%s", file, line->form == FORM_SVG ? "svg" : "html") < 0 ? NULL : name;
}

static bool replaces_input(const struct command_line *line, const char *output, char *const *files, int count) {
    for (int i = 0; i < count; i++)
        if (save_replaces(output, files[i]))
            return true;
    return line->select.base && save_replaces(output, line->select.base);
}

static int show(const struct command_line *line, const ProfProfile *profile, const char *output, char *const *files,
                int count) {
    const char *file = files[0];
    struct flame flame;
    struct notes notes = {0};
    int type = select_type(&line->select, profile, file);
    if (type < 0)
        return EXIT_INPUT;
    if ((unsigned)type >= FLAME_TYPES_MAX) {
        tool_error(file, "only its first %u sample types can be shown", FLAME_TYPES_MAX);
        return EXIT_INPUT;
    }
    int64_t rc = flame_init(&flame, profile, select_is_combined(&line->select, count, profile));
    if (rc == 0 && line->form == FORM_PAGE)
        rc = flame_fold(&flame, line->nodes);
    int code = EXIT_SYSTEM;
    if (rc < 0) {
        tool_error(file, "out of memory");
    } else {
        note_selection(&notes, &line->select);
        if (rc > 0)
            add_note(&notes, "%" PRId64 " frames, the smallest, are folded into %s", rc, FLAME_SMALL);
        struct work work = {.line = line,
                            .flame = &flame,
                            .about = {.profile = profile,
                                      .file = file,
                                      .base = line->select.base,
                                      .notes = (const char *const *)notes.lines,
                                      .type = (size_t)type}};
        code = save_file(output, print, &work);
        if (code == EXIT_OK && !line->output && strcmp(output, "-") != 0)
            printf("%s\n", output);
    }
    for (size_t i = 0; i < notes.count; i++)
        free(notes.lines[i]);
    flame_release(&flame);
    return code;
}

static int load_and_show(const struct command_line *line, char *const *files, int count) {
    char *output = output_name(line, files[0]);
    int code = EXIT_SYSTEM;
    if (!output) {
        tool_error(files[0], "out of memory");
    } else if (replaces_input(line, output, files, count)) {
        code = EXIT_USAGE;
    } else {
        ProfProfile *profile = select_load(&line->select, files, count, NULL, NULL, &code);
        if (profile)
            code = show(line, profile, output, files, count);
        profile_free(profile);
    }
    free(output);
    return code;
}

/* ---- The command line ---- */

static bool parse_nodes(const char *text, size_t *nodes) {
    uint64_t value;
    if (text[strspn(text, "0123456789")] == '\0' && tool_parse_bytes(text, &value) && value > 0 && value <= 100000000) {
        *nodes = (size_t)value;
        return true;
    }
    tool_error(text, "not a number of frames from 1 to 100000000");
    return false;
}

static bool set_option(struct command_line *line, int option) {
    switch (option) {
    case 'o':
        line->output = optarg;
        return true;
    case OPTION_SVG:
        line->form = FORM_SVG;
        return tool_choose(&line->form_option, "--svg");
    case OPTION_COLLAPSED:
        line->form = FORM_COLLAPSED;
        return tool_choose(&line->form_option, "--collapsed");
    case OPTION_NODES:
        /* What it folds is on a page alone. */
        return tool_choose(&line->form_option, "--nodes") && parse_nodes(optarg, &line->nodes);
    default:
        return select_option(&line->select, option);
    }
}

static int run(int argc, char **argv) {
    struct command_line line = {.nodes = NODES_DEFAULT};
    int option, code;
    while ((option = tool_next_option(&command_flame, argc, argv, &code)) > 0) {
        if (!set_option(&line, option)) {
            code = tool_usage("flame");
            break;
        }
    }
    if (option == 0 && optind == argc) {
        tool_error("flame", "no file is given");
        code = tool_usage("flame");
    }
    if (option == 0 && code == EXIT_OK)
        code = load_and_show(&line, argv + optind, argc - optind);
    select_release(&line.select);
    return code;
}

const struct tool_command command_flame = {
    .name = "flame",
    .summary = "make a page with a flame graph of a profile",
    .usage = "[OPTION]... FILE...",
    .operand = "FILE",
    .about =
        "Write a page that shows a profile as a flame graph and as a table, to be searched and zoomed in any browser. "
        "It is "
        "one file that needs no other and asks no network. Several files are added up; names that they lack are looked "
        "up as by cprof symbolize. FILE may be - for standard input.",
    .options = options,
    .notes = "The page holds all values of the profile and begins with the one chosen here; a picture and lines of "
             "text hold "
             "that one alone. Beside a base, widths are what changed, grown or shrunk, and colours say which. "
             "Where there are several profiles, functions of one name are one, as in cprof top: builds of a program in "
             "several directories can be compared.",
    .exits = "0 done, 2 usage, 3 a file can't be read or lacks the type, 4 the result can't be written, 5 no memory.",
    .examples =
        (const char *const[]){"cprof flame cprof.server.4711.pb.gz",
                              "cprof flame -inuse_space --base before.pb.gz -o growth.html after.pb.gz",
                              "cprof flame --collapsed -alloc_space cprof.server.4711.pb.gz > stacks.txt", NULL},
    .run = run,
};
