/* SPDX-License-Identifier: Apache-2.0 */
/* Trees of flame.h: sums, order, and making them smaller. */
#include "tools/flame.h"
#include "tools/sums.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void add_to(int64_t *sum, int64_t value) {
    *sum = sum_of(*sum, value);
}

int64_t *flame_totals(const struct flame *flame, bool signs) {
    size_t count = flame->nodes_count * flame->types;
    int64_t *totals = calloc(count + 1, sizeof *totals);
    if (!totals)
        return NULL;
    for (size_t i = 0; i < count; i++)
        totals[i] = signs ? flame->own[i] : without_sign(flame->own[i]);
    for (size_t i = flame->nodes_count; i-- > 1;)
        for (size_t t = 0; t < flame->types; t++)
            add_to(&totals[flame->nodes[i].parent * flame->types + t], totals[i * flame->types + t]);
    return totals;
}

/* ---- Order ---- */

struct ordered {
    const struct flame *flame;
    int64_t total;
    uint32_t node;
};

/* Siblings come to stand together. */
static int compare_siblings(const void *left, const void *right) {
    const struct ordered *a = left, *b = right;
    const struct flame *flame = a->flame;
    const struct flame_node *x = &flame->nodes[a->node], *y = &flame->nodes[b->node];
    if (x->parent != y->parent)
        return x->parent < y->parent ? -1 : 1;
    if (a->total != b->total)
        return a->total > b->total ? -1 : 1;
    struct flame_bytes one = flame_text_bytes(flame, flame->frames[x->frame].name);
    struct flame_bytes two = flame_text_bytes(flame, flame->frames[y->frame].name);
    int order = memcmp(one.at, two.at, one.len < two.len ? one.len : two.len);
    if (order != 0 || one.len != two.len)
        return order != 0 ? order : one.len < two.len ? -1 : 1;
    return a->node < b->node ? -1 : 1;
}

/* `sorted` holds all nodes but 0, `first[i]` is where the children of node i begin in it. */
static void lay_out(const struct flame *flame, const struct ordered *sorted, const uint32_t *first,
                    struct flame_step *steps, uint32_t *stack) {
    size_t depth = 0, count = 0;
    steps[count++] = (struct flame_step){0, 0};
    uint32_t *next = stack; /* for each node on the way, its next child */
    next[0] = first[0];
    uint32_t at = 0;
    for (;;) {
        if (next[depth] < first[at + 1]) {
            at = sorted[next[depth]++].node;
            depth++;
            steps[count++] = (struct flame_step){at, (uint32_t)depth};
            next[depth] = first[at];
        } else if (depth == 0) {
            return;
        } else {
            at = flame->nodes[at].parent;
            depth--;
        }
    }
}

struct flame_step *flame_walk(const struct flame *flame, const int64_t *totals, size_t type) {
    size_t count = flame->nodes_count;
    struct ordered *sorted = calloc(count, sizeof *sorted);
    uint32_t *first = calloc(count + 2, sizeof *first);
    uint32_t *stack = calloc(count + 1, sizeof *stack);
    struct flame_step *steps = calloc(count, sizeof *steps);
    if (sorted && first && stack && steps) {
        for (uint32_t i = 1; i < count; i++) {
            sorted[i - 1] = (struct ordered){flame, totals[i * flame->types + type], i};
            first[flame->nodes[i].parent + 1]++;
        }
        for (size_t i = 1; i <= count; i++)
            first[i] += first[i - 1];
        qsort(sorted, count - 1, sizeof *sorted, compare_siblings);
        lay_out(flame, sorted, first, steps, stack);
    } else {
        free(steps);
        steps = NULL;
    }
    free(sorted);
    free(first);
    free(stack);
    return steps;
}

/* ---- Making smaller ---- */

struct rank {
    double part; /* of the total, of the type where it is largest */
    uint32_t node;
};

/* A parent is never behind its child: its part is no smaller, and its number is. */
static int compare_ranks(const void *left, const void *right) {
    const struct rank *a = left, *b = right;
    if (a->part != b->part)
        return a->part > b->part ? -1 : 1;
    return a->node < b->node ? -1 : 1;
}

static struct rank *rank_nodes(const struct flame *flame) {
    int64_t *totals = flame_totals(flame, false);
    struct rank *ranks = calloc(flame->nodes_count, sizeof *ranks);
    for (uint32_t i = 0; totals && ranks && i < flame->nodes_count; i++) {
        ranks[i].node = i;
        for (size_t t = 0; t < flame->types; t++) {
            double part = totals[t] > 0 ? (double)totals[i * flame->types + t] / (double)totals[t] : 0;
            if (part > ranks[i].part)
                ranks[i].part = part;
        }
    }
    bool good = totals != NULL;
    free(totals);
    if (good && ranks) {
        qsort(ranks, flame->nodes_count, sizeof *ranks, compare_ranks);
        return ranks;
    }
    free(ranks);
    return NULL;
}

/* Gives away what a node owns. */
static void move_own(struct flame *flame, size_t from, size_t to) {
    for (size_t t = 0; t < flame->types; t++) {
        add_to(&flame->own[to * flame->types + t], flame->own[from * flame->types + t]);
        flame->own[from * flame->types + t] = 0;
    }
}

/* Takes out nodes [0, count) that are not kept, moving up the others: numbers change, order doesn't. */
static void compact(struct flame *flame, const bool *kept, size_t count, uint32_t *number) {
    size_t at = 0;
    for (size_t i = 0; i < flame->nodes_count; i++) {
        if (i < count && !kept[i])
            continue;
        number[i] = (uint32_t)at;
        flame->nodes[at] = flame->nodes[i];
        flame->nodes[at].parent = number[flame->nodes[i].parent];
        memmove(&flame->own[at * flame->types], &flame->own[i * flame->types], flame->types * sizeof *flame->own);
        at++;
    }
    flame->nodes_count = at;
}

int64_t flame_fold(struct flame *flame, size_t most) {
    size_t count = flame->nodes_count;
    if (count <= most)
        return 0;
    struct rank *ranks = rank_nodes(flame);
    bool *kept = calloc(count, sizeof *kept);
    uint32_t *number = calloc(2 * count, sizeof *number);
    bool good = ranks && kept && number;
    for (size_t i = 0; good && i < (most > 0 ? most : 1); i++)
        kept[ranks[i].node] = true;
    /* Children first, so that what they give to their parent goes on from there. */
    for (size_t i = count; good && i-- > 1;) {
        uint32_t parent = flame->nodes[i].parent, small;
        if (kept[i])
            continue;
        if (kept[parent])
            good = flame_add_small(flame, parent, &small);
        else
            small = parent;
        if (good)
            move_own(flame, i, small);
    }
    if (good)
        compact(flame, kept, count, number);
    free(ranks);
    free(kept);
    free(number);
    return good ? (int64_t)(count - most) : -ENOMEM;
}
