/* SPDX-License-Identifier: Apache-2.0 */
/* How: places (report_places.h) say which nodes each location is; the samples are then added up as often as nodes are
 * left out, since what is under a node that is out counts for nobody. Sums wrap, as they do in pprof. */
#include "tools/report.h"

#include "tools/report_places.h"
#include "tools/sums.h"
#include "tools/units.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct sums {
    int64_t flat, cum;
    uint64_t seen; /* the last sample that had it, from 1 */
    bool kept;
    bool inlined, not_inlined;
};

/* A call between two kept nodes. */
struct edge {
    uint32_t caller, callee; /* 0 to 0: free */
    uint64_t seen;
    int64_t weight;
    bool inlined;
};

struct edges {
    struct edge *slots;
    size_t size, used;
};

struct building {
    const ProfProfile *profile;
    const struct report_options *options;
    struct places_of_nodes places;
    struct sums *sums;
    bool with_edges;
    struct edges edges;
};

int64_t report_total(const ProfProfile *profile, size_t type) {
    int64_t total = 0;
    for (size_t i = 0; i < profile->n_sample; i++)
        total = sum_of(total, without_sign(profile->sample[i]->value[type]));
    return total;
}

/* ---- Calls ---- */

static struct edge *edge_slot(const struct edges *edges, uint32_t caller, uint32_t callee) {
    uint64_t hash = ((uint64_t)caller << 32 | callee) * UINT64_C(0x9e3779b97f4a7c15);
    size_t at = hash >> 20 & (edges->size - 1);
    /* No call is from a node to itself, so that 0 to 0 can stand for a free slot. */
    while ((edges->slots[at].caller != caller || edges->slots[at].callee != callee) &&
           edges->slots[at].caller != edges->slots[at].callee)
        at = (at + 1) & (edges->size - 1);
    return &edges->slots[at];
}

static int grow_edges(struct edges *edges) {
    struct edges larger = {.size = edges->size ? 2 * edges->size : 4096, .used = edges->used};
    if (2 * edges->used < edges->size)
        return 0;
    larger.slots = calloc(larger.size, sizeof *larger.slots);
    if (!larger.slots)
        return -ENOMEM;
    for (size_t i = 0; i < edges->size; i++)
        if (edges->slots[i].caller != edges->slots[i].callee)
            *edge_slot(&larger, edges->slots[i].caller, edges->slots[i].callee) = edges->slots[i];
    free(edges->slots);
    *edges = larger;
    return 0;
}

static int add_edge(struct edges *edges, uint32_t caller, uint32_t callee, int64_t value, bool inlined,
                    uint64_t sample) {
    if (caller == callee)
        return 0;
    if (grow_edges(edges) != 0)
        return -ENOMEM;
    struct edge *edge = edge_slot(edges, caller, callee);
    if (edge->caller == edge->callee) {
        *edge = (struct edge){.caller = caller, .callee = callee, .inlined = true};
        edges->used++;
    }
    if (edge->seen == sample)
        return 0;
    edge->seen = sample;
    edge->weight = sum_of(edge->weight, value);
    edge->inlined &= inlined;
    return 0;
}

/* ---- Samples ---- */

/* Adds up one sample: from the root to the leaf, through all functions of each location. */
static int add_sample(struct building *b, const ProfSample *sample, uint64_t number) {
    int64_t value = sample->value[b->options->type];
    uint32_t caller = NODE_NONE;
    bool over_gap = false;
    for (size_t i = sample->n_location_id; value != 0 && i-- > 0;) {
        size_t count;
        const uint32_t *nodes = places_of_location(&b->places, sample->location_id[i], &count);
        for (size_t k = count; k-- > 0;) {
            struct sums *sums = &b->sums[nodes[k]];
            over_gap = !sums->kept;
            if (over_gap)
                continue;
            if (sums->seen != number)
                sums->cum = sum_of(sums->cum, value);
            sums->seen = number;
            if (b->with_edges && caller != NODE_NONE &&
                add_edge(&b->edges, caller, nodes[k], value, k + 1 != count, number) != 0)
                return -ENOMEM;
            caller = nodes[k];
        }
    }
    if (caller != NODE_NONE && !over_gap)
        b->sums[caller].flat = sum_of(b->sums[caller].flat, value);
    return 0;
}

static int add_up(struct building *b) {
    for (size_t i = 0; i < b->places.node_count; i++)
        b->sums[i] = (struct sums){.kept = b->sums[i].kept};
    for (size_t i = 0; i < b->profile->n_sample; i++)
        if (add_sample(b, b->profile->sample[i], i + 1) != 0)
            return -ENOMEM;
    return 0;
}

static bool is_empty(const struct sums *sums) {
    return sums->flat == 0 && sums->cum == 0;
}

/* Nodes that there is anything of. */
static size_t count_nodes(const struct building *b) {
    size_t count = 0;
    for (size_t i = 0; i < b->places.node_count; i++)
        count += b->sums[i].kept && !is_empty(&b->sums[i]);
    return count;
}

static int64_t cutoff(int64_t total, double fraction) {
    double least = (double)total * fraction;
    return least >= 0x1p63 ? INT64_MAX : without_sign((int64_t)least);
}

/* Leaves out nodes with less than the cutoff. */
static int drop_small(struct building *b, int64_t least, struct report *report) {
    size_t before = count_nodes(b), after = 0;
    for (size_t i = 0; i < b->places.node_count; i++) {
        struct sums *sums = &b->sums[i];
        sums->kept = sums->kept && !is_empty(sums) && without_sign(sums->cum) >= least;
        after += sums->kept;
    }
    report->dropped = before - after;
    return report->dropped > 0 ? add_up(b) : 0;
}

/* ---- Order ---- */

struct order {
    const struct building *building;
    uint32_t *nodes;
    size_t count;
};

static int compare(const void *left, const void *right, void *ctx) {
    const struct building *b = ctx;
    uint32_t l = *(const uint32_t *)left, r = *(const uint32_t *)right;
    const struct sums *ls = &b->sums[l], *rs = &b->sums[r];
    bool by_cum = b->options->by_cum;
    int64_t lv = without_sign(by_cum ? ls->cum : ls->flat), rv = without_sign(by_cum ? rs->cum : rs->flat);
    if (lv != rv)
        return lv > rv ? -1 : 1;
    int names = strcmp(b->places.nodes[l].printable, b->places.nodes[r].printable);
    if (names != 0)
        return names;
    lv = without_sign(by_cum ? ls->flat : ls->cum);
    rv = without_sign(by_cum ? rs->flat : rs->cum);
    if (lv != rv)
        return lv > rv ? -1 : 1;
    return places_compare(&b->places, l, r);
}

static void sort(struct order *order) {
    const struct building *b = order->building;
    order->count = 0;
    for (uint32_t i = 0; i < b->places.node_count; i++)
        if (b->sums[i].kept && !is_empty(&b->sums[i]))
            order->nodes[order->count++] = i;
    qsort_r(order->nodes, order->count, sizeof order->nodes[0], compare, (void *)(uintptr_t)b);
}

/* Leaves the first `count`. */
static int keep_top(struct building *b, struct order *order, size_t count) {
    if (count == 0 || order->count <= count)
        return 0;
    for (size_t i = 0; i < b->places.node_count; i++)
        b->sums[i].kept = false;
    for (size_t i = 0; i < count; i++)
        b->sums[order->nodes[i]].kept = true;
    int rc = add_up(b);
    sort(order);
    return rc;
}

/* What was called, and how: by calls that are heavy enough. */
static void judge_inlining(struct building *b, int64_t least) {
    for (size_t i = 0; i < b->edges.size; i++) {
        const struct edge *edge = &b->edges.slots[i];
        if (edge->caller == edge->callee || without_sign(edge->weight) < least)
            continue;
        b->sums[edge->callee].inlined |= edge->inlined;
        b->sums[edge->callee].not_inlined |= !edge->inlined;
    }
}

/* ---- Units ---- */

/* One unit for all values: that of the smallest, or a larger one in which that still is 0.01. */
static const char *choose_unit(const struct building *b, const struct order *order, const struct report *report) {
    int64_t least = 0;
    const char *least_unit, *most_unit, *unit;
    for (size_t i = 0; i < order->count; i++) {
        const struct sums *sums = &b->sums[order->nodes[i]];
        int64_t value = without_sign(sums->flat != 0 ? sums->flat : sums->cum);
        if (value > 0 && (least == 0 || value < least))
            least = value;
    }
    if (least == 0)
        least = report->total;
    units_scale(least, report->unit, "minimum", &least_unit);
    units_scale(report->total, report->unit, "minimum", &most_unit);
    unit = least_unit;
    int64_t hundredfold = (int64_t)((uint64_t)least * 100);
    if (strcmp(least_unit, most_unit) != 0 && hundredfold < report->total)
        units_scale(hundredfold, report->unit, "minimum", &unit);
    return unit[0] != '\0' ? unit : report->unit;
}

/* ---- The report ---- */

static int fill(struct report *report, const struct building *b, const struct order *order) {
    report->nodes = calloc(order->count + 1, sizeof *report->nodes);
    if (!report->nodes)
        return -ENOMEM;
    report->count = order->count;
    for (size_t i = 0; i < order->count; i++) {
        const struct sums *sums = &b->sums[order->nodes[i]];
        report->nodes[i] = (struct report_node){
            .name = b->places.nodes[order->nodes[i]].printable,
            .flat = sums->flat,
            .cum = sums->cum,
            .inlined = sums->inlined,
            .not_inlined = sums->not_inlined,
        };
    }
    return 0;
}

static int build(struct building *b, struct order *order, struct report *report) {
    int64_t total = 0;
    for (size_t i = 0; i < b->places.node_count; i++)
        b->sums[i].kept = true;
    if (add_up(b) != 0)
        return -ENOMEM;
    for (size_t i = 0; i < b->places.node_count; i++)
        total = sum_of(total, b->sums[i].flat);
    int64_t least = cutoff(total, b->options->node_fraction);
    if (least > 0 && drop_small(b, least, report) != 0)
        return -ENOMEM;
    sort(order);
    report->candidates = order->count;
    if (keep_top(b, order, b->options->count) != 0)
        return -ENOMEM;
    /* Once more for the calls alone: only now it is known between whom. */
    b->with_edges = true;
    if (add_up(b) != 0)
        return -ENOMEM;
    judge_inlining(b, cutoff(total, b->options->edge_fraction));
    bool fits_all = strcmp(b->options->unit, "minimum") == 0 && order->count > 0;
    report->output = fits_all ? choose_unit(b, order, report) : b->options->unit;
    return fill(report, b, order);
}

int report_init(struct report *report, const ProfProfile *profile, const struct report_options *options,
                int64_t total) {
    struct building b = {.profile = profile, .options = options};
    struct order order = {.building = &b};
    *report = (struct report){.total = total};
    int rc = places_of_nodes_init(&b.places, profile, options);
    report->memory = b.places.memory;
    b.sums = calloc(b.places.node_count + 1, sizeof *b.sums);
    order.nodes = calloc(b.places.node_count + 1, sizeof *order.nodes);
    if (rc == 0 && b.sums && order.nodes) {
        report->unit = places_unit(&b.places);
        rc = build(&b, &order, report);
    } else {
        rc = -ENOMEM;
    }
    free(b.sums);
    free(order.nodes);
    free(b.edges.slots);
    return rc;
}

void report_release(struct report *report) {
    free(report->nodes);
    places_of_nodes_release(report->memory);
    *report = (struct report){0};
}
