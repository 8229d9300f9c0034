/* SPDX-License-Identifier: Apache-2.0 */
/* How much of an automaton an expression becomes, told before it is made.
 *
 * Why:     the C library's regcomp copies what is repeated, so that a few nested counts take all memory there is, and
 *          it goes down into parentheses by recursion. A profile brings its drop_frames along: it need not be well
 *          meant.
 * Limits:  RE2's for counts, also multiplied where they are nested, for repeats of repeats and for nesting; of its own
 *          for what is left, the sum of all copies.
 * Use:     one call for each part of the expression, in order, whose false means that it is to be refused: `reason`
 *          says why.
 */
#ifndef CPROF_TOOLS_PATTERN_EXTENT_H
#define CPROF_TOOLS_PATTERN_EXTENT_H

#include <stdbool.h>
#include <stddef.h>

/* RE2's. */
#define EXTENT_COUNT_MAX 1000u
#define EXTENT_NESTING_MAX 1000u

/* What part of an expression becomes. */
struct extent_sum {
    size_t pieces;  /* bytes and sets to be matched */
    size_t forks;   /* where there is more than one way to go on; their cost grows with their square */
    size_t anchors; /* ^ $ \b \B: regcomp copies all ways that may follow for each of them */
};

struct extent_level {
    struct extent_sum before; /* all but the last piece */
    struct extent_sum last;
    unsigned before_counts, last_counts; /* the largest product of counts inside */
    bool repeated;                       /* the last piece is a repetition */
};

/* Starts as zero. */
struct extent {
    struct extent_level levels[EXTENT_NESTING_MAX + 1];
    size_t depth;
    struct extent_sum others; /* alternatives before this one, outside of all parentheses: nothing follows them */
    const char *reason;
};

/* A byte or a set of them. */
bool extent_piece(struct extent *extent);

/* A ^, $, \b or the like. */
bool extent_anchor(struct extent *extent);

/* A | between two alternatives. */
bool extent_alternative(struct extent *extent);

bool extent_open(struct extent *extent);
bool extent_close(struct extent *extent);

/* What the piece before is followed by: `min` to `max` of it, with `counted` these being numbers in braces; `endless`:
 * there is no most. */
bool extent_repeat(struct extent *extent, unsigned min, unsigned max, bool endless, bool counted);

#endif
