/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/load.h"

#include "tools/tool.h"

#include "proto/reader.h"

#include <stdlib.h>

/* ---- Ids ---- */

struct id {
    uint64_t id;
    uint64_t dense;
};

struct ids {
    struct id *sorted; /* NULL: they are dense already */
    size_t count;
};

static int compare(const void *left, const void *right) {
    const struct id *a = left, *b = right;
    return a->id < b->id ? -1 : a->id > b->id;
}

/* Makes the ids at `first`, each `ids_id(entries, i)`, dense. */
static bool ids_init(struct ids *ids, size_t count, uint64_t *ids_id(const ProfProfile *, size_t),
                     const ProfProfile *profile, const char **reason) {
    bool dense = true;
    *ids = (struct ids){.count = count};
    for (size_t i = 0; i < count && dense; i++)
        dense = *ids_id(profile, i) == i + 1;
    if (dense)
        return true;
    ids->sorted = malloc(count * sizeof *ids->sorted);
    *reason = "out of memory";
    if (!ids->sorted)
        return false;
    for (size_t i = 0; i < count; i++)
        ids->sorted[i] = (struct id){.id = *ids_id(profile, i), .dense = i + 1};
    qsort(ids->sorted, count, sizeof *ids->sorted, compare);
    *reason = "two entries have one id, or one has the id 0";
    for (size_t i = 0; i < count; i++) {
        if (ids->sorted[i].id == (i > 0 ? ids->sorted[i - 1].id : 0))
            return false;
        *ids_id(profile, ids->sorted[i].dense - 1) = ids->sorted[i].dense;
    }
    return true;
}

static bool renumber(const struct ids *ids, uint64_t *reference) {
    if (!ids->sorted)
        return *reference >= 1 && *reference <= ids->count;
    struct id key = {.id = *reference};
    const struct id *found = bsearch(&key, ids->sorted, ids->count, sizeof key, compare);
    if (found)
        *reference = found->dense;
    return found != NULL;
}

static uint64_t *mapping_id(const ProfProfile *profile, size_t i) {
    return &profile->mapping[i]->id;
}

static uint64_t *location_id(const ProfProfile *profile, size_t i) {
    return &profile->location[i]->id;
}

static uint64_t *function_id(const ProfProfile *profile, size_t i) {
    return &profile->function[i]->id;
}

/* ---- References ---- */

static bool settle_locations(ProfProfile *profile, const struct ids *mappings, const struct ids *functions) {
    for (size_t i = 0; i < profile->n_location; i++) {
        ProfLocation *location = profile->location[i];
        if (location->mapping_id != 0 && !renumber(mappings, &location->mapping_id))
            return false;
        for (size_t k = 0; k < location->n_line; k++)
            if (!renumber(functions, &location->line[k]->function_id))
                return false;
    }
    return true;
}

static bool settle_samples(ProfProfile *profile, const struct ids *locations, const char **reason) {
    for (size_t i = 0; i < profile->n_sample; i++) {
        ProfSample *sample = profile->sample[i];
        if (sample->n_value != profile->n_sample_type) {
            *reason = "a sample has not one value for each sample type";
            return false;
        }
        for (size_t k = 0; k < sample->n_location_id; k++)
            if (!renumber(locations, &sample->location_id[k]))
                return false;
    }
    return true;
}

bool load_settle(ProfProfile *profile, const char **reason) {
    struct ids mappings = {0}, locations = {0}, functions = {0};
    bool good = ids_init(&mappings, profile->n_mapping, mapping_id, profile, reason) &&
                ids_init(&locations, profile->n_location, location_id, profile, reason) &&
                ids_init(&functions, profile->n_function, function_id, profile, reason);
    if (good) {
        *reason = "a reference leads nowhere";
        good = settle_locations(profile, &mappings, &functions) && settle_samples(profile, &locations, reason);
    }
    free(mappings.sorted);
    free(locations.sorted);
    free(functions.sorted);
    return good;
}

ProfProfile *load_profile(const char *path, int *code) {
    struct prof_error error;
    const char *reason;
    ProfProfile *profile = profile_read(path, 0, &error);
    *code = EXIT_INPUT;
    if (!profile) {
        tool_error(path, "%s", error.text);
        return NULL;
    }
    if (profile->n_string_table > 0 && profile->string_table[0].len == 0 && load_settle(profile, &reason)) {
        *code = EXIT_OK;
        return profile;
    }
    if (profile->n_string_table == 0 || profile->string_table[0].len != 0)
        reason = "the first text is not the empty one";
    tool_error(path, "not a valid profile: %s", reason);
    profile_free(profile);
    return NULL;
}
