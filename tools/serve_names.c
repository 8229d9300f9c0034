/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/serve_names.h"

#include "tools/serve_part.h"
#include "tools/symbolize_names.h"

#include "proto/reader.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct file {
    char *key;
    bool given_up;
    bool has_functions, has_filenames, has_line_numbers, has_inline_frames;
};

struct place {
    uint64_t offset; /* in the file */
    uint32_t file;   /* + 1; 0: free */
    uint32_t count;  /* lines; 0: there is nothing to know */
    size_t first;
};

struct line {
    uint32_t function;
    int32_t line, column;
};

struct name_cache {
    uint64_t generation;
    struct file *files;
    size_t file_count;
    struct place *places; /* by hash */
    size_t place_slots, place_count;
    struct line *lines;
    size_t line_count, line_room;
    ProfProfile *known; /* functions and texts alone */
    struct names names;
};

/* ---- Life ---- */

static bool fill(struct name_cache *cache) {
    cache->known = malloc(sizeof *cache->known);
    if (!cache->known)
        return false;
    perftools__profiles__profile__init(cache->known);
    cache->known->string_table = calloc(1, sizeof cache->known->string_table[0]);
    if (!cache->known->string_table)
        return false;
    cache->known->n_string_table = 1;
    return names_init(&cache->names, cache->known) == 0;
}

static void empty(struct name_cache *cache) {
    for (size_t i = 0; i < cache->file_count; i++)
        free(cache->files[i].key);
    free(cache->files);
    free(cache->places);
    free(cache->lines);
    names_release(&cache->names);
    profile_free(cache->known);
    *cache = (struct name_cache){.generation = cache->generation + 1};
}

struct name_cache *name_cache_new(void) {
    struct name_cache *cache = calloc(1, sizeof *cache);
    if (cache && !fill(cache)) {
        name_cache_free(cache);
        return NULL;
    }
    return cache;
}

void name_cache_free(struct name_cache *cache) {
    if (cache)
        empty(cache);
    free(cache);
}

/* ---- Keys ---- */

static char *key_of(const ProfProfile *profile, const ProfMapping *mapping) {
    char *key = NULL;
    if (!mapping)
        return strdup("");
    ProtobufCBinaryData path = profile_text(profile, mapping->filename), id = profile_text(profile, mapping->build_id);
    char *name = strndup((const char *)path.data, path.len);
    struct stat st = {0};
    if (name && id.len > 0) {
        if (asprintf(&key, "%.*s %s", (int)id.len, (const char *)id.data, name) < 0)
            key = NULL;
        free(name);
        return key;
    }
    if (name && name[0] == '/')
        stat(name, &st);
    if (name && asprintf(&key, "%ju:%ju:%jd.%09ld %s", (uintmax_t)st.st_dev, (uintmax_t)st.st_ino,
                         (intmax_t)st.st_mtim.tv_sec, st.st_mtim.tv_nsec, name) < 0)
        key = NULL;
    free(name);
    return key;
}

/* Index of the file with that key, which is taken over; or -ENOMEM. */
static int64_t file_of(struct name_cache *cache, char *key) {
    for (size_t i = 0; key && i < cache->file_count; i++)
        if (strcmp(cache->files[i].key, key) == 0) {
            free(key);
            return (int64_t)i;
        }
    struct file *more = key ? realloc(cache->files, (cache->file_count + 1) * sizeof *more) : NULL;
    if (!more) {
        free(key);
        return -ENOMEM;
    }
    cache->files = more;
    more[cache->file_count] = (struct file){.key = key};
    return (int64_t)cache->file_count++;
}

static uint64_t offset_of(const ProfMapping *mapping, uint64_t address) {
    return mapping ? address - mapping->memory_start + mapping->file_offset : address;
}

/* The place, or where it would be. */
static struct place *find(const struct name_cache *cache, size_t file, uint64_t offset) {
    uint64_t h = (offset + file * UINT64_C(0x9e3779b97f4a7c15)) * UINT64_C(0xff51afd7ed558ccd);
    h ^= h >> 32;
    for (;; h++) {
        struct place *place = &cache->places[h & (cache->place_slots - 1)];
        if (place->file == 0 || (place->file == file + 1 && place->offset == offset))
            return place;
    }
}

static bool make_room(struct name_cache *cache) {
    if (cache->place_count * 2 < cache->place_slots)
        return true;
    struct name_cache larger = {.place_slots = cache->place_slots ? 2 * cache->place_slots : 1024};
    larger.places = calloc(larger.place_slots, sizeof *larger.places);
    if (!larger.places)
        return false;
    for (size_t i = 0; i < cache->place_slots; i++)
        if (cache->places[i].file != 0)
            *find(&larger, cache->places[i].file - 1, cache->places[i].offset) = cache->places[i];
    free(cache->places);
    cache->places = larger.places;
    cache->place_slots = larger.place_slots;
    return true;
}

void names_list_free(struct names_list *list) {
    for (size_t i = 0; i < list->count; i++)
        profile_free(list->at[i].profile);
    free(list->at);
    *list = (struct names_list){0};
}

/* ---- Applying ---- */

struct applying {
    struct name_cache *cache;
    ProfProfile *profile;
    struct names names;
    int64_t *functions; /* of the cache's, by index: ids in the profile; 0: not there yet */
    size_t *files;      /* of the profile's mappings: index + 1; [0] for none */
    size_t *parts;      /* likewise: index + 1 in the list */
    bool *all;          /* likewise: nothing of it is left to be looked up */
    struct names_list *wanted;
};

static int64_t carry_text(struct applying *a, int64_t index) {
    ProtobufCBinaryData text = profile_text(a->cache->known, index);
    return text.len == 0 ? 0 : names_text(&a->names, (const char *)text.data, text.len);
}

static int64_t carry_function(struct applying *a, uint32_t index) {
    const ProfFunction *from = a->cache->known->function[index];
    if (a->functions[index] == 0) {
        int64_t name = carry_text(a, from->name), system_name = carry_text(a, from->system_name);
        int64_t filename = carry_text(a, from->filename);
        a->functions[index] = name < 0 || system_name < 0 || filename < 0
                                  ? -ENOMEM
                                  : names_function(&a->names, name, system_name, filename, from->start_line);
    }
    return a->functions[index];
}

static int set_lines(struct applying *a, ProfLocation *location, const struct place *place) {
    if (place->count == 0)
        return 0;
    location->line = calloc(place->count, sizeof(ProfLine *));
    for (uint32_t i = 0; location->line && i < place->count; i++) {
        const struct line *from = &a->cache->lines[place->first + i];
        int64_t function = carry_function(a, from->function);
        ProfLine *line = function > 0 ? malloc(sizeof *line) : NULL;
        if (!line)
            return -ENOMEM;
        perftools__profiles__line__init(line);
        line->function_id = (uint64_t)function;
        line->line = from->line;
        line->column = from->column;
        location->line[location->n_line++] = line;
    }
    return location->line ? 0 : -ENOMEM;
}

static int want_location(struct applying *a, const ProfLocation *location, const ProfMapping *mapping, size_t file) {
    struct names_list *list = a->wanted;
    size_t *part = &a->parts[location->mapping_id];
    if (*part == 0) {
        struct names_wanted *more = realloc(list->at, (list->count + 1) * sizeof *more);
        if (!more)
            return -ENOMEM;
        list->at = more;
        more[list->count].file = file;
        more[list->count].profile = name_part_new(a->profile, mapping, a->profile->n_location);
        if (!more[list->count].profile)
            return -ENOMEM;
        *part = ++list->count;
    }
    return name_part_add(list->at[*part - 1].profile, location->address);
}

static int apply_location(struct applying *a, ProfLocation *location) {
    const ProfMapping *mapping = location->mapping_id > 0 ? a->profile->mapping[location->mapping_id - 1] : NULL;
    size_t *known = &a->files[location->mapping_id];
    if (location->n_line > 0)
        return 0;
    if (*known == 0) {
        int64_t file = file_of(a->cache, key_of(a->profile, mapping));
        if (file < 0)
            return (int)file;
        *known = (size_t)file + 1;
    }
    size_t file = *known - 1;
    const struct place *place =
        a->cache->place_slots > 0 ? find(a->cache, file, offset_of(mapping, location->address)) : NULL;
    if (place && place->file != 0)
        return set_lines(a, location, place);
    a->all[location->mapping_id] = false;
    if (a->cache->files[file].given_up || !a->wanted)
        return 0;
    return want_location(a, location, mapping, file);
}

/* Only of a mapping whose addresses were all looked up may it be said that nobody need look again. */
static void set_flags(struct applying *a) {
    for (size_t i = 0; i < a->profile->n_mapping; i++) {
        ProfMapping *mapping = a->profile->mapping[i];
        if (a->files[i + 1] == 0 || !a->all[i + 1])
            continue;
        const struct file *file = &a->cache->files[a->files[i + 1] - 1];
        mapping->has_functions |= file->has_functions;
        mapping->has_filenames |= file->has_filenames;
        mapping->has_line_numbers |= file->has_line_numbers;
        mapping->has_inline_frames |= file->has_inline_frames;
    }
}

int name_cache_apply(struct name_cache *cache, ProfProfile *profile, struct names_list *wanted) {
    struct applying a = {.cache = cache, .profile = profile, .wanted = wanted};
    if (cache->place_count > NAMES_PLACES_MAX || cache->file_count > NAMES_FILES_MAX)
        empty(cache);
    if (!cache->known && !fill(cache))
        return -ENOMEM;
    size_t mappings = profile->n_mapping + 1;
    int rc = names_init(&a.names, profile);
    a.functions = calloc(cache->known->n_function + 1, sizeof *a.functions);
    a.files = calloc(mappings, sizeof *a.files);
    a.parts = calloc(mappings, sizeof *a.parts);
    a.all = malloc(mappings * sizeof *a.all);
    if (!a.functions || !a.files || !a.parts || !a.all)
        rc = -ENOMEM;
    if (rc == 0)
        memset(a.all, 1, mappings * sizeof *a.all);
    if (wanted)
        *wanted = (struct names_list){.generation = cache->generation};
    for (size_t i = 0; rc == 0 && i < profile->n_location; i++)
        rc = apply_location(&a, profile->location[i]);
    if (rc == 0)
        set_flags(&a);
    names_release(&a.names);
    free(a.functions);
    free(a.files);
    free(a.parts);
    free(a.all);
    return rc;
}

/* ---- Taking ---- */

static int64_t take_text(struct name_cache *cache, const ProfProfile *found, int64_t index) {
    ProtobufCBinaryData text = profile_text(found, index);
    return text.len == 0 ? 0 : names_text(&cache->names, (const char *)text.data, text.len);
}

static int64_t take_function(struct name_cache *cache, const ProfProfile *found, uint64_t id) {
    if (id == 0 || id > found->n_function)
        return -EINVAL;
    const ProfFunction *function = found->function[id - 1];
    int64_t name = take_text(cache, found, function->name),
            system_name = take_text(cache, found, function->system_name);
    int64_t filename = take_text(cache, found, function->filename);
    if (name < 0 || system_name < 0 || filename < 0)
        return -ENOMEM;
    return names_function(&cache->names, name, system_name, filename, function->start_line);
}

static int take_lines(struct name_cache *cache, struct place *place, const ProfProfile *found,
                      const ProfLocation *location) {
    if (cache->line_count + location->n_line > cache->line_room) {
        size_t room = 2 * cache->line_room + location->n_line + 64;
        struct line *larger = realloc(cache->lines, room * sizeof *larger);
        if (!larger)
            return -ENOMEM;
        cache->lines = larger;
        cache->line_room = room;
    }
    struct line *more = cache->lines;
    for (size_t i = 0; i < location->n_line; i++) {
        int64_t function = take_function(cache, found, location->line[i]->function_id);
        if (function < 0)
            return (int)function;
        more[cache->line_count + i] = (struct line){.function = (uint32_t)(function - 1),
                                                    .line = (int32_t)location->line[i]->line,
                                                    .column = (int32_t)location->line[i]->column};
    }
    place->first = cache->line_count;
    place->count = (uint32_t)location->n_line;
    cache->line_count += location->n_line;
    return 0;
}

int name_cache_take(struct name_cache *cache, const struct names_list *list, const struct names_wanted *wanted,
                    const ProfProfile *found, bool complete) {
    if (list->generation != cache->generation || wanted->file >= cache->file_count)
        return 0;
    struct file *file = &cache->files[wanted->file];
    const ProfMapping *mapping = found->n_mapping > 0 ? found->mapping[0] : NULL;
    if (mapping) {
        file->has_functions |= mapping->has_functions;
        file->has_filenames |= mapping->has_filenames;
        file->has_line_numbers |= mapping->has_line_numbers;
        file->has_inline_frames |= mapping->has_inline_frames;
    }
    for (size_t i = 0; i < found->n_location; i++) {
        const ProfLocation *location = found->location[i];
        if (location->n_line == 0 && !complete)
            continue;
        if (!make_room(cache))
            return -ENOMEM;
        struct place *place = find(cache, wanted->file, offset_of(mapping, location->address));
        if (place->file != 0)
            continue;
        place->offset = offset_of(mapping, location->address);
        int rc = take_lines(cache, place, found, location);
        if (rc != 0)
            return rc;
        place->file = (uint32_t)wanted->file + 1;
        cache->place_count++;
    }
    return 0;
}

void name_cache_give_up(struct name_cache *cache, const struct names_list *list, const struct names_wanted *wanted) {
    if (list->generation == cache->generation && wanted->file < cache->file_count)
        cache->files[wanted->file].given_up = true;
}
