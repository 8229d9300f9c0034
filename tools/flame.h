/* SPDX-License-Identifier: Apache-2.0 */
/* Flame graphs.
 *
 * Role:    behind `cprof flame`: the stacks of a profile as one tree of calls, and the tree as a page, as a picture and
 *          as text.
 * Model:   a node is a function where it was called: by its parent, inlined into it or not. Its own values are those of
 *          the samples whose leaf it is. Node 0 is where all stacks begin; a parent comes before its children.
 */
#ifndef CPROF_TOOLS_FLAME_H
#define CPROF_TOOLS_FLAME_H

#include "proto/profile.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Index of a text; 0 is the empty one. */
typedef uint32_t flame_text;

struct flame_frame {
    flame_text name; /* never empty */
    flame_text file;
    flame_text module; /* path of the binary, or a name in brackets */
};

struct flame_node {
    uint32_t parent;
    uint32_t frame;      /* of node 0: none */
    uint32_t line_first; /* the lines that its samples are at: from this */
    uint32_t line_last;  /* to that; 0: not known */
    bool inlined;
};

struct flame_bytes {
    const char *at;
    size_t len;
};

struct flame {
    struct flame_node *nodes;
    struct flame_frame *frames;
    int64_t *own;  /* of node i and type t: own[i * types + t] */
    int64_t *sums; /* for each type, of all samples */
    size_t nodes_count;
    size_t frames_count;
    size_t types;
    size_t texts_count;
    bool by_name;                /* frames of one name are one */
    struct flame_memory *memory; /* owned */
};

/* More sample types than this are left out: each takes room in each node. */
#define FLAME_TYPES_MAX 16u

/* Makes the tree of a profile of load_profile(). Functions are told apart by their files and binaries too, unless
 * `by_name`: for profiles of several builds of a program, where a function is the same one wherever it was built, and
 * inlined or not. Returns 0 or -ENOMEM; flame_release() is due in either case. */
int flame_init(struct flame *flame, const ProfProfile *profile, bool by_name);
void flame_release(struct flame *flame);

/* What the index stands for: any bytes, no zero byte behind. */
struct flame_bytes flame_text_bytes(const struct flame *flame, flame_text text);

/* Keeps the nodes that stand for most, `most` of them or a few more; what the others own goes to a frame named
 * FLAME_SMALL beneath the last one kept. Returns the number of those left out, or -ENOMEM. */
#define FLAME_SMALL "(smaller frames)"
int64_t flame_fold(struct flame *flame, size_t most);

/* Adds that frame, once, beneath a node. False without memory. */
bool flame_add_small(struct flame *flame, uint32_t parent, uint32_t *number);

/* Values of nodes with all that they called, laid out as own[]; with `signs` off each own value counts as positive, so
 * that what grew and what shrank don't make up for each other. Freed by the caller; NULL without memory. */
int64_t *flame_totals(const struct flame *flame, bool signs);

/* The nodes so that each is followed by those it called, these in the order of their totals of that type, the largest
 * first, and of their names; for printing. Freed by the caller; NULL without memory. */
struct flame_step {
    uint32_t node;
    uint32_t depth; /* 0 for node 0 */
};
struct flame_step *flame_walk(const struct flame *flame, const int64_t *totals, size_t type);

/* What is said of a profile beside its tree. */
struct flame_about {
    const ProfProfile *profile;
    const char *file;
    const char *base;         /* NULL: none was subtracted */
    const char *const *notes; /* further lines, ended by NULL */
    size_t type;              /* the one to begin with */
};

/* Each prints on a stream, whose errors are the caller's to see. Returns 0 or -ENOMEM. */
int flame_print_page(FILE *out, const struct flame *flame, const struct flame_about *about);
int flame_print_svg(FILE *out, const struct flame *flame, const struct flame_about *about);
int flame_print_data(FILE *out, const struct flame *flame, const struct flame_about *about); /* the page's JSON */
int flame_print_folded(FILE *out, const struct flame *flame, size_t type);

#endif
