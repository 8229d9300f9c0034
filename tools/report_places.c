/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/report_places.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Texts in blocks that are freed together. */
struct text_block {
    struct text_block *next;
    char text[];
};

struct node_memory {
    struct text_block *blocks;
    struct node_info *nodes;
    uint32_t *of_lines;
    uint32_t *of_location;
    const char **texts; /* by index of the profile: terminated copies, made on demand */
    uint32_t *slots;    /* nodes + 1 by hash */
    size_t slot_count;
};

static char *new_text(struct node_memory *memory, size_t len) {
    struct text_block *block = malloc(sizeof *block + len + 1);
    if (!block)
        return NULL;
    block->next = memory->blocks;
    memory->blocks = block;
    block->text[len] = '\0';
    return block->text;
}

/* A zero byte would cut a name short; nobody has one in it but to deceive. */
static const char *text_of(struct places_of_nodes *places, int64_t index) {
    ProtobufCBinaryData text = profile_text(places->profile, index);
    if (text.len == 0)
        return "";
    const char **known = &places->memory->texts[index];
    if (!*known) {
        char *copy = new_text(places->memory, text.len);
        if (!copy)
            return NULL;
        for (size_t i = 0; i < text.len; i++)
            copy[i] = text.data[i] != '\0' ? (char)text.data[i] : '?';
        *known = copy;
    }
    return *known;
}

/* ---- Paths, as pprof shows them ---- */

static bool ends_element(char c) {
    return c == '/' || c == '\0';
}

/* Takes out "", "." and "..", like Go's filepath.Clean. `to` has room for strlen(path) + 2. */
static void clean_path(const char *path, char *to) {
    char *start = to;
    bool rooted = path[0] == '/';
    if (rooted)
        *to++ = '/';
    char *floor = to; /* what ".." does not go above */
    while (*path) {
        if (*path == '/') {
            path++;
        } else if (path[0] == '.' && ends_element(path[1])) {
            path++;
        } else if (path[0] == '.' && path[1] == '.' && ends_element(path[2])) {
            path += 2;
            if (to > floor) {
                while (to > floor && to[-1] != '/')
                    to--;
                if (to > floor)
                    to--;
            } else if (!rooted) {
                if (to > start)
                    *to++ = '/';
                *to++ = '.';
                *to++ = '.';
                floor = to;
            }
        } else {
            if (to > start && to[-1] != '/')
                *to++ = '/';
            while (!ends_element(*path))
                *to++ = *path++;
        }
    }
    if (to == start)
        *to++ = '.';
    *to = '\0';
}

static const char *file_of(struct places_of_nodes *places, int64_t index) {
    static const char *const build_roots[] = {"/proc/self/cwd/./", "/proc/self/cwd/"};
    const char *path = text_of(places, index);
    if (!path || !*path)
        return path;
    for (size_t i = 0; i < 2; i++)
        if (strncmp(path, build_roots[i], strlen(build_roots[i])) == 0) {
            path += strlen(build_roots[i]);
            break;
        }
    if (!*path)
        return "";
    char *clean = new_text(places->memory, strlen(path) + 1);
    if (clean)
        clean_path(path, clean);
    return clean;
}

static const char *base_of(const char *path) {
    const char *base = strrchr(path, '/');
    return base && base[1] ? base + 1 : path;
}

/* ---- Nodes ---- */

static bool set_printable(struct places_of_nodes *places, struct node_info *node) {
    char *printable = new_text(places->memory, strlen(node->name) + strlen(node->file) + strlen(node->object) + 40);
    node->printable = printable;
    if (!printable)
        return false;
    const char *gap = node->name[0] ? " " : "";
    if (node->line != 0)
        sprintf(printable, "%s%s%s:%" PRId64, node->name, gap, node->file, node->line);
    else if (node->file[0])
        sprintf(printable, "%s%s%s", node->name, gap, node->file);
    else if (node->name[0])
        strcpy(printable, node->name);
    else if (node->object[0])
        sprintf(printable, "[%s]", base_of(node->object));
    else
        strcpy(printable, "<unknown>");
    return true;
}

static uint64_t hash_text(uint64_t hash, const char *text) {
    do
        hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
    while (*text++);
    return hash;
}

static uint64_t hash_node(const struct node_info *node) {
    uint64_t hash = hash_text(UINT64_C(0xcbf29ce484222325), node->name);
    hash = hash_text(hash_text(hash, node->file), node->object);
    hash = (hash ^ (uint64_t)node->line ^ (uint64_t)node->start_line << 32) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 31;
}

static bool same_node(const struct node_info *a, const struct node_info *b) {
    return a->line == b->line && a->start_line == b->start_line && strcmp(a->name, b->name) == 0 &&
           strcmp(a->file, b->file) == 0 && strcmp(a->object, b->object) == 0;
}

static bool grow_slots(struct places_of_nodes *places) {
    struct node_memory *memory = places->memory;
    if (2 * places->node_count < memory->slot_count)
        return true;
    size_t count = memory->slot_count ? 2 * memory->slot_count : 1024;
    uint32_t *slots = calloc(count, sizeof *slots);
    struct node_info *nodes = realloc(memory->nodes, count * sizeof *nodes);
    if (nodes)
        memory->nodes = nodes;
    if (!slots || !nodes) {
        free(slots);
        return false;
    }
    for (size_t i = 0; i < places->node_count; i++) {
        size_t at = hash_node(&nodes[i]) & (count - 1);
        while (slots[at] != 0)
            at = (at + 1) & (count - 1);
        slots[at] = (uint32_t)i + 1;
    }
    free(memory->slots);
    memory->slots = slots;
    memory->slot_count = count;
    return true;
}

static uint32_t find_or_add(struct places_of_nodes *places, struct node_info *node) {
    struct node_memory *memory = places->memory;
    if (!node->name || !node->file || !node->object || !grow_slots(places))
        return NODE_NONE;
    size_t at = hash_node(node) & (memory->slot_count - 1);
    for (; memory->slots[at] != 0; at = (at + 1) & (memory->slot_count - 1))
        if (same_node(&memory->nodes[memory->slots[at] - 1], node))
            return memory->slots[at] - 1;
    if (!set_printable(places, node))
        return NODE_NONE;
    memory->nodes[places->node_count] = *node;
    memory->slots[at] = (uint32_t)places->node_count + 1;
    return (uint32_t)places->node_count++;
}

int places_compare(const struct places_of_nodes *places, uint32_t left, uint32_t right) {
    const struct node_info *l = &places->nodes[left], *r = &places->nodes[right];
    char *texts[2] = {NULL, NULL};
    int order = 0;
    if (asprintf(&texts[0], "{%s  0 %s %" PRId64 " %" PRId64 " %s}", l->name, l->file, l->start_line, l->line,
                 l->object) >= 0 &&
        asprintf(&texts[1], "{%s  0 %s %" PRId64 " %" PRId64 " %s}", r->name, r->file, r->start_line, r->line,
                 r->object) >= 0)
        order = strcmp(texts[0], texts[1]);
    free(texts[0]);
    free(texts[1]);
    return order;
}

/* ---- Locations ---- */

static uint32_t node_of(struct places_of_nodes *places, const ProfLocation *location, const ProfLine *line,
                        enum report_granularity granularity) {
    struct node_info node = {.name = "", .file = "", .object = ""};
    int64_t object = location->mapping_id != 0 ? places->profile->mapping[location->mapping_id - 1]->filename : 0;
    if (line) {
        const ProfFunction *function = places->profile->function[line->function_id - 1];
        if (granularity != REPORT_FILES)
            node.name = text_of(places, function->name);
        if (granularity != REPORT_FUNCTIONS)
            node.file = file_of(places, function->filename);
        node.line = granularity == REPORT_LINES ? line->line : 0;
        node.start_line = node.name && node.name[0] ? 0 : function->start_line;
    }
    if (node.name && !node.name[0])
        node.object = text_of(places, object);
    return find_or_add(places, &node);
}

static int add_location(struct places_of_nodes *places, const ProfLocation *location,
                        const struct report_options *options, uint32_t *next) {
    size_t count = location->n_line > 0 ? location->n_line : 1;
    for (size_t i = options->no_inlines ? count - 1 : 0; i < count; i++) {
        uint32_t node =
            node_of(places, location, location->n_line > 0 ? location->line[i] : NULL, options->granularity);
        if (node == NODE_NONE)
            return -ENOMEM;
        places->of_lines[(*next)++] = node;
    }
    return 0;
}

int places_of_nodes_init(struct places_of_nodes *places, const ProfProfile *profile,
                         const struct report_options *options) {
    size_t lines = 0;
    uint32_t next = 0;
    for (size_t i = 0; i < profile->n_location; i++)
        lines += profile->location[i]->n_line > 0 ? profile->location[i]->n_line : 1;
    struct node_memory *memory = calloc(1, sizeof *memory);
    *places = (struct places_of_nodes){.profile = profile, .memory = memory};
    if (!memory || lines >= NODE_NONE)
        return -ENOMEM;
    places->of_lines = memory->of_lines = malloc((lines + 1) * sizeof *memory->of_lines);
    places->of_location = memory->of_location = malloc((profile->n_location + 1) * sizeof *memory->of_location);
    memory->texts = calloc(profile->n_string_table + 1, sizeof *memory->texts);
    if (!memory->of_lines || !memory->of_location || !memory->texts)
        return -ENOMEM;
    for (size_t i = 0; i < profile->n_location; i++) {
        places->of_location[i] = next;
        if (add_location(places, profile->location[i], options, &next) != 0)
            return -ENOMEM;
    }
    places->of_location[profile->n_location] = next;
    places->nodes = memory->nodes;
    places->unit = text_of(places, profile->sample_type[options->type]->unit);
    return places->unit ? 0 : -ENOMEM;
}

void places_of_nodes_release(struct node_memory *memory) {
    if (!memory)
        return;
    while (memory->blocks) {
        struct text_block *next = memory->blocks->next;
        free(memory->blocks);
        memory->blocks = next;
    }
    free(memory->nodes);
    free(memory->of_lines);
    free(memory->of_location);
    free(memory->texts);
    free(memory->slots);
    free(memory);
}
