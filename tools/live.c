/* SPDX-License-Identifier: Apache-2.0 */
/* How: first, guarded, all that is needed is copied out of the segment; then, at leisure, it is named and added up. */
#include "tools/live.h"

#include "tools/live_names.h"

#include "proto/drop_frames.h"
#include "proto/estimate.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PATH_FRAMES_MAX 8192u

struct node {
    uint32_t parent;
    uint32_t pc;
};

struct live {
    struct live_names names;
    const struct segment_file *file;
    struct live_pc *pcs;
    size_t pc_count, pc_room;
    struct live_module *modules;
    size_t module_count;
    struct node *nodes;
    double (*values)[LIVE_TYPES]; /* by node */
    size_t node_count, node_room;
    double overflow[LIVE_TYPES];
    double total[LIVE_TYPES];
    struct live_row *rows; /* by function */
    uint32_t *stamps;      /* which node's stack a function was counted for last */
    size_t row_count;
    const struct live_row **order;
    bool drop_set;
};

static const char *const type_names[LIVE_TYPES] = {
    [LIVE_ALLOC_OBJECTS] = "alloc_objects",
    [LIVE_ALLOC_SPACE] = "alloc_space",
    [LIVE_INUSE_OBJECTS] = "inuse_objects",
    [LIVE_INUSE_SPACE] = "inuse_space",
};

const char *live_type_name(enum live_type type) {
    return type_names[type];
}

bool live_parse_type(const char *text, enum live_type *type) {
    for (size_t i = 0; i < LIVE_TYPES; i++)
        if (strcmp(text, type_names[i]) == 0) {
            *type = (enum live_type)i;
            return true;
        }
    return false;
}

struct live *live_new(bool names) {
    struct live *live = calloc(1, sizeof *live);
    if (live)
        live_names_init(&live->names, names);
    return live;
}

void live_free(struct live *live) {
    if (!live)
        return;
    live_names_release(&live->names);
    for (size_t i = 0; i < live->module_count; i++)
        free(live->modules[i].path);
    free(live->modules);
    free(live->pcs);
    free(live->nodes);
    free(live->values);
    free(live->rows);
    free(live->stamps);
    free(live->order);
    free(live);
}

/* ---- Copying ---- */

static bool reserve(void *array, size_t *room, size_t count, size_t size) {
    void **at = array;
    if (count <= *room)
        return true;
    size_t want = count + count / 4;
    void *more = realloc(*at, want * size);
    if (!more)
        return false;
    *at = more;
    *room = want;
    return true;
}

static int copy_modules(struct live *live, const struct segment_view *view) {
    size_t count = view->used[SEGMENT_MODULES];
    if (count > live->module_count) {
        struct live_module *more = realloc(live->modules, count * sizeof *more);
        if (!more)
            return -ENOMEM;
        memset(more + live->module_count, 0, (count - live->module_count) * sizeof *more);
        live->modules = more;
        live->module_count = count;
    }
    for (size_t i = 1; i < count; i++) {
        char path[8192];
        unsigned char id[64];
        struct segment_module module;
        struct live_module *to = &live->modules[i];
        if (to->path || !segment_view_module(view, (uint32_t)i, &module))
            continue;
        segment_view_text(view, module.path, module.path_len, path, sizeof path);
        size_t len = module.build_id_len < sizeof id ? module.build_id_len : 0;
        len = segment_view_bytes(view, module.build_id, len, id, sizeof id);
        to->start = module.start;
        to->file_offset = module.file_offset;
        for (size_t k = 0; k < len; k++)
            snprintf(to->build_id + 2 * k, 3, "%02x", id[k]);
        to->path = strdup(module.flags & SEGMENT_MODULE_VDSO ? "[vdso]" : path);
        if (!to->path)
            return -ENOMEM;
    }
    return 0;
}

static int copy_pcs(struct live *live, const struct segment_view *view) {
    size_t count = view->used[SEGMENT_PCS];
    if (!reserve(&live->pcs, &live->pc_room, count, sizeof *live->pcs))
        return -ENOMEM;
    /* All of them again, as some may not have been whole the last time. */
    for (size_t i = 0; i < count; i++) {
        struct segment_pc pc = {0};
        segment_view_pc(view, (uint32_t)i, &pc);
        live->pcs[i] = (struct live_pc){pc.address, pc.module};
    }
    live->pc_count = count;
    return 0;
}

static void add_blocks(double values[LIVE_TYPES], uint64_t size, uint64_t allocs, uint64_t live, uint64_t rate) {
    double weight = sample_weight(size, rate), bytes = weight * (double)size;
    values[LIVE_ALLOC_OBJECTS] += (double)allocs * weight;
    values[LIVE_ALLOC_SPACE] += (double)allocs * bytes;
    values[LIVE_INUSE_OBJECTS] += (double)live * weight;
    values[LIVE_INUSE_SPACE] += (double)live * bytes;
}

static int copy_nodes(struct live *live, const struct segment_view *view) {
    size_t count = view->used[SEGMENT_NODES], room = live->node_room;
    if (!reserve(&live->nodes, &room, count, sizeof *live->nodes) ||
        !reserve(&live->values, &live->node_room, count, sizeof *live->values))
        return -ENOMEM;
    live->node_count = count;
    memset(live->values, 0, count * sizeof *live->values);
    for (size_t i = 0; i < count; i++) {
        struct segment_node node = {0};
        bool good = segment_view_node(view, (uint32_t)i, &node);
        live->nodes[i] = (struct node){good ? node.parent : 0, good ? node.pc : 0};
    }
    for (uint32_t i = SEGMENT_BUCKET_FIRST; i < view->used[SEGMENT_BUCKETS]; i++) {
        struct segment_bucket bucket;
        if (!segment_view_bucket(view, i, &bucket) || bucket.node >= count)
            continue;
        struct segment_count blocks = segment_view_counts(view, i);
        if (blocks.allocs > 0)
            add_blocks(live->values[bucket.node], bucket.size, blocks.allocs, blocks.allocs - blocks.frees,
                       view->header.rate);
    }
    return 0;
}

static void copy_overflow(struct live *live, const struct segment_view *view) {
    memset(live->overflow, 0, sizeof live->overflow);
    for (unsigned k = 0; k < SEGMENT_OVERFLOW_CLASSES; k++) {
        const struct segment_overflow *class = &view->header.overflow[k];
        if (class->allocs > 0)
            add_blocks(live->overflow, class->bytes / class->allocs, class->allocs, 0, view->header.rate);
    }
}

static void set_drop(struct live *live, const struct segment_view *view) {
    char more[4096], *all;
    size_t len = segment_view_text(view, view->header.drop_frames, SIZE_MAX, more, sizeof more);
    if (!live->drop_set && asprintf(&all, "%s%s%s", DROP_FRAMES, len > 0 ? "|" : "", more) >= 0) {
        live_names_set_drop(&live->names, all);
        free(all);
    }
    live->drop_set = true;
}

static int copy(void *ctx) {
    struct live *live = ctx;
    const struct segment_view *view = &live->file->view;
    live->names.process = live->file->life != SEGMENT_DEAD ? live->file->process : 0;
    set_drop(live, view);
    copy_overflow(live, view);
    int rc = copy_nodes(live, view);
    if (rc == 0)
        rc = copy_pcs(live, view);
    return rc == 0 ? copy_modules(live, view) : rc;
}

/* ---- Naming ---- */

/* What can be reached from a node with blocks is whole. */
static int name_stacks(struct live *live) {
    int rc = live_names_reserve(&live->names, live->pc_count > SEGMENT_PC_FIRST ? live->pc_count : SEGMENT_PC_FIRST);
    unsigned char *seen = calloc(live->node_count + 1, 1);
    if (!seen)
        rc = -ENOMEM;
    if (rc == 0)
        rc = live_names_add(&live->names, SEGMENT_PC_OVERFLOW, &(struct live_pc){0}, live->modules, live->module_count);
    for (size_t i = 1; rc == 0 && i < live->node_count; i++) {
        if (live->values[i][LIVE_ALLOC_OBJECTS] <= 0)
            continue;
        for (uint32_t node = (uint32_t)i; rc == 0 && node != 0 && !seen[node]; node = live->nodes[node].parent) {
            uint32_t pc = live->nodes[node].pc;
            seen[node] = 1;
            if (pc < live->pc_count)
                rc = live_names_add(&live->names, pc, &live->pcs[pc], live->modules, live->module_count);
        }
    }
    free(seen);
    return rc;
}

/* ---- Adding up ---- */

/* The functions on a node's stack, the leaf first, without those to be dropped. Returns their number. */
static size_t stack_of(const struct live *live, uint32_t node, uint32_t path[PATH_FRAMES_MAX]) {
    size_t count = 0;
    for (; node != 0; node = live->nodes[node].parent) {
        size_t n;
        const uint32_t *frames = live_names_of(&live->names, live->nodes[node].pc, &n);
        for (size_t i = 0; i < n && count < PATH_FRAMES_MAX; i++)
            path[count++] = frames[i];
    }
    bool user = false;
    for (size_t i = count; i-- > 0;) {
        if (!live->names.functions[path[i]].dropped) {
            user = true;
        } else if (user) {
            memmove(path, path + i + 1, (count - i - 1) * sizeof *path);
            return count - i - 1;
        }
    }
    return count;
}

static void add_values(double to[LIVE_TYPES], const double values[LIVE_TYPES]) {
    for (size_t t = 0; t < LIVE_TYPES; t++)
        to[t] += values[t];
}

static void add_stack(struct live *live, uint32_t node) {
    static uint32_t path[PATH_FRAMES_MAX];
    const double *values = live->values[node];
    size_t count = stack_of(live, node, path);
    add_values(live->total, values);
    if (count > 0)
        add_values(live->rows[path[0]].flat, values);
    for (size_t i = 0; i < count; i++)
        if (live->stamps[path[i]] != node) {
            live->stamps[path[i]] = node;
            add_values(live->rows[path[i]].cum, values);
        }
}

static void add_overflow(struct live *live) {
    size_t n;
    const uint32_t *frames = live_names_of(&live->names, SEGMENT_PC_OVERFLOW, &n);
    if (n == 0 || live->overflow[LIVE_ALLOC_OBJECTS] <= 0)
        return;
    add_values(live->total, live->overflow);
    add_values(live->rows[frames[0]].flat, live->overflow);
    add_values(live->rows[frames[0]].cum, live->overflow);
}

static int add_up(struct live *live) {
    size_t count = live->names.function_count;
    free(live->rows);
    free(live->stamps);
    free(live->order);
    live->rows = calloc(count + 1, sizeof *live->rows);
    live->stamps = calloc(count + 1, sizeof *live->stamps);
    live->order = calloc(count + 1, sizeof *live->order);
    if (!live->rows || !live->stamps || !live->order)
        return -ENOMEM;
    live->row_count = count;
    memset(live->total, 0, sizeof live->total);
    for (size_t i = 0; i < count; i++)
        live->rows[i].name = live->names.functions[i].name;
    for (size_t i = 1; i < live->node_count; i++)
        if (live->values[i][LIVE_ALLOC_OBJECTS] > 0)
            add_stack(live, (uint32_t)i);
    add_overflow(live);
    return 0;
}

int live_read(struct live *live, const struct segment_file *file) {
    live->file = file;
    int rc = segment_guard(copy, live);
    if (rc == 0)
        rc = name_stacks(live);
    return rc == 0 ? add_up(live) : rc;
}

/* ---- Results ---- */

struct ordering {
    enum live_type type;
    bool by_cum;
};

static int compare(const void *left, const void *right, void *ctx) {
    const struct live_row *a = *(const struct live_row *const *)left, *b = *(const struct live_row *const *)right;
    const struct ordering *by = ctx;
    double first[2] = {a->flat[by->type], b->flat[by->type]}, second[2] = {a->cum[by->type], b->cum[by->type]};
    const double *key = by->by_cum ? second : first, *other = by->by_cum ? first : second;
    if (key[0] != key[1])
        return key[0] > key[1] ? -1 : 1;
    if (other[0] != other[1])
        return other[0] > other[1] ? -1 : 1;
    return strcmp(a->name, b->name);
}

size_t live_rows(struct live *live, enum live_type type, bool by_cum, const struct live_row *const **rows) {
    struct ordering by = {type, by_cum};
    size_t count = 0;
    for (size_t i = 0; i < live->row_count; i++)
        if (live->rows[i].cum[type] >= 0.5)
            live->order[count++] = &live->rows[i];
    if (count > 0)
        qsort_r(live->order, count, sizeof *live->order, compare, &by);
    *rows = live->order;
    return count;
}

double live_total(const struct live *live, enum live_type type) {
    return live->total[type];
}
