/* SPDX-License-Identifier: Apache-2.0 */
/* From samples to a tree. Texts, frames and nodes are each kept once, found by hash. */
#include "tools/flame.h"
#include "tools/sums.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- Tables of what exists ---- */

struct slot {
    uint32_t hash;
    uint32_t number; /* of the entry, from 1; 0: free */
};

struct table {
    struct slot *slots;
    size_t size; /* a power of 2 */
    size_t used;
};

struct span {
    size_t at;
    size_t len;
};

struct flame_memory {
    char *bytes; /* of all texts */
    size_t bytes_len, bytes_room;
    struct span *texts;
    size_t texts_room, frames_room, nodes_room;
    struct table text_table, frame_table, node_table;
};

static uint32_t hash_bytes(const void *bytes, size_t len) {
    const unsigned char *at = bytes;
    uint64_t hash = 0xcbf29ce484222325u ^ len;
    for (size_t i = 0; i < len; i++)
        hash = (hash ^ at[i]) * 0x100000001b3u;
    return (uint32_t)(hash ^ hash >> 32);
}

static bool table_grow(struct table *table) {
    size_t size = table->size > 0 ? 2 * table->size : 1024;
    struct slot *slots = calloc(size, sizeof *slots);
    if (!slots)
        return false;
    for (size_t i = 0; i < table->size; i++) {
        size_t at = table->slots[i].hash & (size - 1);
        if (table->slots[i].number == 0)
            continue;
        while (slots[at].number != 0)
            at = (at + 1) & (size - 1);
        slots[at] = table->slots[i];
    }
    free(table->slots);
    table->slots = slots;
    table->size = size;
    return true;
}

/* The slot of the entry that `same` knows as `key`, or a free one. NULL without memory. */
static struct slot *table_find(struct table *table, const struct flame *flame, uint32_t hash, const void *key,
                               bool (*same)(const struct flame *flame, uint32_t entry, const void *key)) {
    if (2 * (table->used + 1) > table->size && !table_grow(table))
        return NULL;
    size_t at = hash & (table->size - 1);
    while (table->slots[at].number != 0 &&
           (table->slots[at].hash != hash || !same(flame, table->slots[at].number - 1, key)))
        at = (at + 1) & (table->size - 1);
    return &table->slots[at];
}

static void take(struct table *table, struct slot *slot, uint32_t hash, size_t entry) {
    *slot = (struct slot){.hash = hash, .number = (uint32_t)entry + 1};
    table->used++;
}

/* Room for one more entry. NULL, with the old one left, without memory. */
static void *make_room(void *array, size_t count, size_t *room, size_t entry_size) {
    if (count < *room)
        return array;
    size_t more = *room > 0 ? 2 * *room : 256;
    void *grown = more < INT32_MAX ? reallocarray(array, more, entry_size) : NULL;
    if (grown)
        *room = more;
    return grown;
}

/* ---- Texts, frames, nodes ---- */

struct flame_bytes flame_text_bytes(const struct flame *flame, flame_text text) {
    struct span span = flame->memory->texts[text];
    return (struct flame_bytes){flame->memory->bytes + span.at, span.len};
}

static bool same_text(const struct flame *flame, uint32_t entry, const void *key) {
    const struct flame_bytes *wanted = key;
    struct flame_bytes have = flame_text_bytes(flame, entry);
    return have.len == wanted->len && memcmp(have.at, wanted->at, have.len) == 0;
}

static bool add_text(struct flame *flame, const void *bytes, size_t len, flame_text *text) {
    struct flame_memory *memory = flame->memory;
    struct flame_bytes key = {bytes, len};
    uint32_t hash = hash_bytes(bytes, len);
    struct slot *slot = table_find(&memory->text_table, flame, hash, &key, same_text);
    if (slot && slot->number != 0) {
        *text = slot->number - 1;
        return true;
    }
    struct span *texts = make_room(memory->texts, flame->texts_count, &memory->texts_room, sizeof *texts);
    if (texts)
        memory->texts = texts;
    if (memory->bytes_room - memory->bytes_len <= len) {
        size_t room = 2 * memory->bytes_room + len + 4096;
        char *grown = realloc(memory->bytes, room);
        if (!grown)
            return false;
        memory->bytes = grown;
        memory->bytes_room = room;
    }
    if (!slot || !texts)
        return false;
    memcpy(memory->bytes + memory->bytes_len, bytes, len);
    texts[flame->texts_count] = (struct span){memory->bytes_len, len};
    memory->bytes_len += len;
    *text = (flame_text)flame->texts_count;
    take(&memory->text_table, slot, hash, flame->texts_count++);
    return true;
}

/* How much of a frame is what it is known by; the name comes first. */
static size_t frame_key_size(const struct flame *flame) {
    return flame->by_name ? sizeof flame->frames->name : sizeof *flame->frames;
}

static bool same_frame(const struct flame *flame, uint32_t entry, const void *key) {
    return memcmp(&flame->frames[entry], key, frame_key_size(flame)) == 0;
}

static bool add_frame(struct flame *flame, struct flame_frame frame, uint32_t *number) {
    struct flame_memory *memory = flame->memory;
    uint32_t hash = hash_bytes(&frame, frame_key_size(flame));
    struct slot *slot = table_find(&memory->frame_table, flame, hash, &frame, same_frame);
    if (slot && slot->number != 0) {
        *number = slot->number - 1;
        return true;
    }
    struct flame_frame *frames = make_room(flame->frames, flame->frames_count, &memory->frames_room, sizeof *frames);
    if (frames)
        flame->frames = frames;
    if (!slot || !frames)
        return false;
    frames[flame->frames_count] = frame;
    *number = (uint32_t)flame->frames_count;
    take(&memory->frame_table, slot, hash, flame->frames_count++);
    return true;
}

static bool same_node(const struct flame *flame, uint32_t entry, const void *key) {
    const struct flame_node *have = &flame->nodes[entry], *wanted = key;
    return have->parent == wanted->parent && have->frame == wanted->frame &&
           (flame->by_name || have->inlined == wanted->inlined);
}

/* Finds or adds the node and notes its lines. */
static bool add_node(struct flame *flame, const struct flame_node *node, uint32_t *number) {
    struct flame_memory *memory = flame->memory;
    uint32_t key[] = {node->parent, node->frame, !flame->by_name && node->inlined};
    uint32_t hash = hash_bytes(key, sizeof key);
    struct slot *slot = table_find(&memory->node_table, flame, hash, node, same_node);
    if (slot && slot->number != 0) {
        struct flame_node *found = &flame->nodes[ *number = slot->number - 1];
        if (node->line_first != 0 && (found->line_first == 0 || node->line_first < found->line_first))
            found->line_first = node->line_first;
        if (node->line_last > found->line_last)
            found->line_last = node->line_last;
        return true;
    }
    size_t room = memory->nodes_room;
    int64_t *own = make_room(flame->own, flame->nodes_count, &room, flame->types * sizeof *own);
    if (own)
        flame->own = own;
    struct flame_node *nodes = make_room(flame->nodes, flame->nodes_count, &memory->nodes_room, sizeof *nodes);
    if (nodes)
        flame->nodes = nodes;
    if (!slot || !own || !nodes)
        return false;
    nodes[flame->nodes_count] = *node;
    memset(own + flame->nodes_count * flame->types, 0, flame->types * sizeof *own);
    *number = (uint32_t)flame->nodes_count;
    take(&memory->node_table, slot, hash, flame->nodes_count++);
    return true;
}

bool flame_add_small(struct flame *flame, uint32_t parent, uint32_t *number) {
    struct flame_node node = {.parent = parent};
    struct flame_frame frame = {0};
    return add_text(flame, FLAME_SMALL, strlen(FLAME_SMALL), &frame.name) && add_frame(flame, frame, &node.frame) &&
           add_node(flame, &node, number);
}

/* ---- The profile ---- */

/* Frames of the locations' lines, and how a location without lines is called. */
struct places {
    size_t *first; /* of location i in `frames` */
    uint32_t *frames;
};

static struct flame_bytes base_name(struct flame_bytes path) {
    for (size_t i = path.len; i-- > 0;)
        if (path.at[i] == '/')
            return (struct flame_bytes){path.at + i + 1, path.len - i - 1};
    return path;
}

/* As pprof does: [FILE], or the address. */
static bool name_unknown(struct flame *flame, const ProfLocation *location, struct flame_frame *frame) {
    struct flame_bytes file = base_name(flame_text_bytes(flame, frame->module));
    char text[256];
    if (frame->module == 0)
        snprintf(text, sizeof text, "0x%" PRIx64, location->address);
    else if (file.len > 0 && file.at[0] == '[')
        snprintf(text, sizeof text, "%.*s", (int)(file.len < 250 ? file.len : 250), file.at);
    else
        snprintf(text, sizeof text, "[%.*s]", (int)(file.len < 250 ? file.len : 250), file.at);
    return add_text(flame, text, strlen(text), &frame->name);
}

static bool add_location(struct flame *flame, const ProfProfile *profile, const ProfLocation *location,
                         uint32_t *numbers) {
    struct flame_frame frame = {0};
    if (location->mapping_id != 0) {
        ProtobufCBinaryData path = profile_text(profile, profile->mapping[location->mapping_id - 1]->filename);
        if (!add_text(flame, path.data, path.len, &frame.module))
            return false;
    }
    if (location->n_line == 0)
        return name_unknown(flame, location, &frame) && add_frame(flame, frame, numbers);
    for (size_t i = 0; i < location->n_line; i++) {
        const ProfFunction *function = profile->function[location->line[i]->function_id - 1];
        ProtobufCBinaryData name = profile_text(profile, function->name);
        ProtobufCBinaryData file = profile_text(profile, function->filename);
        if (name.len == 0)
            name = profile_text(profile, function->system_name);
        bool good =
            name.len > 0 ? add_text(flame, name.data, name.len, &frame.name) : name_unknown(flame, location, &frame);
        if (!good || !add_text(flame, file.data, file.len, &frame.file) || !add_frame(flame, frame, &numbers[i]))
            return false;
    }
    return true;
}

static bool places_init(struct places *places, struct flame *flame, const ProfProfile *profile) {
    size_t count = 0;
    places->frames = NULL;
    places->first = calloc(profile->n_location + 1, sizeof *places->first);
    for (size_t i = 0; places->first && i < profile->n_location; i++) {
        places->first[i] = count;
        count += profile->location[i]->n_line > 0 ? profile->location[i]->n_line : 1;
    }
    places->frames = calloc(count + 1, sizeof *places->frames);
    bool good = places->first && places->frames;
    for (size_t i = 0; good && i < profile->n_location; i++)
        good = add_location(flame, profile, profile->location[i], places->frames + places->first[i]);
    return good;
}

static uint32_t line_number(const ProfLocation *location, size_t i) {
    int64_t line = i < location->n_line ? location->line[i]->line : 0;
    return line > 0 && line < UINT32_MAX ? (uint32_t)line : 0;
}

static void add_to(int64_t *sum, int64_t value) {
    *sum = sum_of(*sum, value);
}

static bool add_sample(struct flame *flame, const ProfProfile *profile, const struct places *places,
                       const ProfSample *sample) {
    uint32_t at = 0;
    /* From the root on; a location's outermost function is its last. */
    for (size_t i = sample->n_location_id; i-- > 0;) {
        size_t number = sample->location_id[i] - 1;
        const ProfLocation *location = profile->location[number];
        for (size_t lines = location->n_line > 0 ? location->n_line : 1, k = lines; k-- > 0;) {
            uint32_t line = line_number(location, k);
            struct flame_node node = {.parent = at,
                                      .frame = places->frames[places->first[number] + k],
                                      .line_first = line,
                                      .line_last = line,
                                      .inlined = k + 1 < lines};
            if (!add_node(flame, &node, &at))
                return false;
        }
    }
    for (size_t t = 0; t < flame->types; t++) {
        add_to(&flame->own[at * flame->types + t], sample->value[t]);
        add_to(&flame->sums[t], sample->value[t]);
    }
    return true;
}

/* Node 0 can't be found by a stack: no frame has this number. */
static bool add_root(struct flame *flame) {
    struct flame_node root = {.frame = UINT32_MAX};
    flame_text empty;
    uint32_t number;
    return add_text(flame, "", 0, &empty) && add_node(flame, &root, &number);
}

int flame_init(struct flame *flame, const ProfProfile *profile, bool by_name) {
    struct places places = {0};
    *flame =
        (struct flame){.types = profile->n_sample_type < FLAME_TYPES_MAX ? profile->n_sample_type : FLAME_TYPES_MAX,
                       .by_name = by_name};
    flame->memory = calloc(1, sizeof *flame->memory);
    flame->sums = calloc(flame->types + 1, sizeof *flame->sums);
    bool good = flame->memory && flame->sums && add_root(flame) && places_init(&places, flame, profile);
    for (size_t i = 0; good && i < profile->n_sample; i++)
        good = add_sample(flame, profile, &places, profile->sample[i]);
    free(places.first);
    free(places.frames);
    return good ? 0 : -ENOMEM;
}

void flame_release(struct flame *flame) {
    if (flame->memory) {
        free(flame->memory->bytes);
        free(flame->memory->texts);
        free(flame->memory->text_table.slots);
        free(flame->memory->frame_table.slots);
        free(flame->memory->node_table.slots);
    }
    free(flame->memory);
    free(flame->nodes);
    free(flame->frames);
    free(flame->own);
    free(flame->sums);
    *flame = (struct flame){0};
}
