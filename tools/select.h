/* SPDX-License-Identifier: Apache-2.0 */
/* Options that commands have in common: which profiles, which of their values, samples and frames.
 *
 * Role:  a command puts SELECT_OPTIONS in its table, hands the ids to select_option(), and gets the profile that was
 *        asked for: files added up, names looked up, --base subtracted, frames dropped and samples selected, as by
 *        pprof.
 */
#ifndef CPROF_TOOLS_SELECT_H
#define CPROF_TOOLS_SELECT_H

#include "tools/pattern.h"
#include "tools/tag_pattern.h"
#include "tools/tool.h"

#include "proto/profile.h"

enum {
    SELECT_ALLOC_SPACE = TOOL_LONG + 100,
    SELECT_ALLOC_OBJECTS,
    SELECT_INUSE_SPACE,
    SELECT_INUSE_OBJECTS,
    SELECT_SAMPLE_INDEX,
    SELECT_BASE,
    SELECT_SYMBOLIZE,
    SELECT_FOCUS, /* in the order of select.filters */
    SELECT_IGNORE,
    SELECT_HIDE,
    SELECT_SHOW,
    SELECT_TAGFOCUS, /* from here on by labels */
    SELECT_TAGIGNORE,
    SELECT_END,
};
#define SELECT_FILTERS (SELECT_END - SELECT_FOCUS)
#define SELECT_NAME_FILTERS (SELECT_TAGFOCUS - SELECT_FOCUS)

/* clang-format off */
#define SELECT_OPTIONS \
    {.help = "What is counted; the profile's default, inuse_space, if not given:"}, \
    {SELECT_ALLOC_SPACE, "alloc_space", NULL, "bytes that were allocated"}, \
    {SELECT_ALLOC_OBJECTS, "alloc_objects", NULL, "blocks that were allocated"}, \
    {SELECT_INUSE_SPACE, "inuse_space", NULL, "bytes that were in use"}, \
    {SELECT_INUSE_OBJECTS, "inuse_objects", NULL, "blocks that were in use"}, \
    {SELECT_SAMPLE_INDEX, "sample_index", "TYPE", "a type by its name or number"}, \
    {.help = "Samples and frames, by names of functions, source files and binaries, or by labels (RE is a regular expression):"}, \
    {SELECT_FOCUS, "focus", "RE", "samples with a frame that matches"}, \
    {SELECT_IGNORE, "ignore", "RE", "samples without one"}, \
    {SELECT_HIDE, "hide", "RE", "leave out frames that match"}, \
    {SELECT_SHOW, "show", "RE", "leave out all others"}, \
    {SELECT_TAGFOCUS, "tagfocus", "RE", \
     "samples with a label that matches, written KEY:TEXT; KEY=RE: with a label KEY whose text does. Several have commas " \
     "between them, as in pprof. Of labels that are numbers, which ranges are for: bytes=4kb, 4kb:, :64kb, 4kb:64kb. Blocks " \
     "that a fork brought along have the label inherited:fork"}, \
    {SELECT_TAGIGNORE, "tagignore", "RE", "samples without one"}, \
    {SELECT_BASE, "base", "OLD", "subtract the profile OLD; what shrank is negative"}, \
    {SELECT_SYMBOLIZE, "symbolize", "yes|no", "no: print names only as far as the file has them"}
/* clang-format on */

struct select_filter {
    const char *text; /* NULL: not given */
    union {
        struct pattern pattern;
        struct tag_pattern tags;
    };
};

/* As the options are called. */
extern const char *const select_filter_names[SELECT_FILTERS];

struct select {
    const char *type;        /* NULL: the profile's default */
    const char *type_option; /* that said so */
    const char *base; /* NULL: none */
    bool leave_names;
    struct select_filter filters[SELECT_FILTERS];
};

/* Takes an option of SELECT_OPTIONS, its argument being optarg. False, after a message, if that is wrong. */
bool select_option(struct select *select, int option);

/* Loads the files and does to them what the options say. `before`, if not NULL, is called in between, when all samples
 * are there and none has been left out by its names. NULL, after a message, with *code. */
ProfProfile *select_load(const struct select *select, char *const *files, int count,
                         void (*before)(void *ctx, const ProfProfile *profile), void *ctx, int *code);

/* Whether what select_load() made of `count` files is of several profiles, added up or subtracted, here or before. */
bool select_is_combined(const struct select *select, int count, const ProfProfile *profile);

/* Index of the sample type that was asked for. -1, after a message, if there is none. */
int select_type(const struct select *select, const ProfProfile *profile, const char *file);

void select_release(struct select *select);

#endif
