/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/load.h"

#include "tools/tool.h"

#include "proto/ids.h"
#include "proto/reader.h"

/* ---- Ids ---- */

/* Makes the ids of `count` entries dense, and tells in `ids` what they were. */
static bool settle_ids(struct ids *ids, const ProfProfile *profile, size_t count, ids_id *id, const char **reason) {
    *reason = "out of memory";
    if (ids_init(ids, profile, count, id) != 0)
        return false;
    *reason = "two entries have one id, or one has the id 0";
    for (size_t i = 0; i < count; i++) {
        if (ids_find(ids, *id(profile, i)) != i + 1)
            return false;
    }
    for (size_t i = 0; i < count; i++)
        *id(profile, i) = i + 1;
    return true;
}

static bool renumber(const struct ids *ids, uint64_t *reference) {
    size_t number = ids_find(ids, *reference);
    if (number > 0)
        *reference = number;
    return number > 0;
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
    bool good = settle_ids(&mappings, profile, profile->n_mapping, ids_mapping, reason) &&
                settle_ids(&locations, profile, profile->n_location, ids_location, reason) &&
                settle_ids(&functions, profile, profile->n_function, ids_function, reason);
    if (good) {
        *reason = "a reference leads nowhere";
        good = settle_locations(profile, &mappings, &functions) && settle_samples(profile, &locations, reason);
    }
    ids_release(&mappings);
    ids_release(&locations);
    ids_release(&functions);
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
