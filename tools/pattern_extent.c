/* SPDX-License-Identifier: Apache-2.0 */
/* How: a sum for each open parenthesis, in which the last piece stands apart since a repeat may follow. Sums are looked
 * at whenever they grow, so none can overflow. */
#include "tools/pattern_extent.h"

/* glibc makes 20 MB of so many pieces, 33 MB of so many forks; (\b|\B) is doubled by each further one, and (\b|a)*
 * by less, but in itself. */
#define PIECES_MAX 100000u
#define FORKS_MAX 2000u
#define ANCHORED_FORKS_MAX 512u

static bool refuse(struct extent *extent, const char *reason) {
    extent->reason = reason;
    return false;
}

static struct extent_level *level_of(struct extent *extent) {
    return &extent->levels[extent->depth];
}

static bool fits(struct extent *extent, const struct extent_sum *sum) {
    if (extent->others.pieces + sum->pieces > PIECES_MAX || extent->others.forks + sum->forks > FORKS_MAX)
        return refuse(extent, "it is too large with its repeats written out");
    if (sum->anchors * sum->forks > ANCHORED_FORKS_MAX)
        return refuse(extent, "it has too many of ^, $ and \\b");
    return true;
}

static void add(struct extent_sum *sum, const struct extent_sum *more) {
    sum->pieces += more->pieces;
    sum->forks += more->forks;
    sum->anchors += more->anchors;
}

static bool begin(struct extent *extent, struct extent_sum piece, unsigned counts) {
    struct extent_level *level = level_of(extent);
    add(&level->before, &level->last);
    if (level->last_counts > level->before_counts)
        level->before_counts = level->last_counts;
    level->last = piece;
    level->last_counts = counts;
    level->repeated = false;
    struct extent_sum all = level->before;
    add(&all, &piece);
    return fits(extent, &all);
}

bool extent_piece(struct extent *extent) {
    return begin(extent, (struct extent_sum){.pieces = 1}, 1);
}

bool extent_anchor(struct extent *extent) {
    return begin(extent, (struct extent_sum){.forks = 1, .anchors = 1}, 1);
}

bool extent_alternative(struct extent *extent) {
    struct extent_level *level = level_of(extent);
    if (!begin(extent, (struct extent_sum){.forks = 1}, 1))
        return false;
    if (extent->depth == 0) {
        begin(extent, (struct extent_sum){0}, 1);
        add(&extent->others, &level->before);
        *level = (struct extent_level){0};
    }
    return true;
}

bool extent_open(struct extent *extent) {
    if (extent->depth == EXTENT_NESTING_MAX)
        return refuse(extent, "its parentheses are nested too deeply");
    extent->depth++;
    *level_of(extent) = (struct extent_level){0};
    return true;
}

bool extent_close(struct extent *extent) {
    if (extent->depth == 0)
        return refuse(extent, "parentheses don't match");
    /* What is inside becomes one piece of what is around it. */
    begin(extent, (struct extent_sum){0}, 1);
    struct extent_level inside = *level_of(extent);
    extent->depth--;
    return begin(extent, inside.before, inside.before_counts);
}

bool extent_repeat(struct extent *extent, unsigned min, unsigned max, bool endless, bool counted) {
    struct extent_level *level = level_of(extent);
    if (level->repeated)
        return refuse(extent, "it repeats what is a repeat itself, without parentheses");
    if (!endless && max < min)
        return refuse(extent, "a repeat ends before it begins");
    unsigned most = endless ? min : max;
    if (counted && most > EXTENT_COUNT_MAX)
        return refuse(extent, "it repeats something more than 1000 times");
    if (counted && most > 1 && (level->last_counts *= most) > EXTENT_COUNT_MAX)
        return refuse(extent, "its nested repeats come to more than 1000 times");
    unsigned copies = most + endless > 1 ? most + endless : 1;
    level->last.pieces *= copies;
    level->last.forks = (level->last.forks + (endless || max > min)) * copies;
    level->last.anchors *= copies;
    level->repeated = true;
    struct extent_sum all = level->before;
    add(&all, &level->last);
    return fits(extent, &all);
}
