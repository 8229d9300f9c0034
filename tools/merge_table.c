/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/merge_table.h"

#include <errno.h>
#include <stdlib.h>

static uint64_t mix(uint64_t hash, uint64_t value) {
    hash = (hash ^ value) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 32;
}

static uint64_t hash_location(const ProfProfile *profile, size_t i) {
    const ProfLocation *location = profile->location[i];
    uint64_t start = location->mapping_id ? profile->mapping[location->mapping_id - 1]->memory_start : 0;
    uint64_t hash = mix(mix(location->mapping_id, location->address - start), location->is_folded);
    for (size_t k = 0; k < location->n_line; k++)
        hash = mix(mix(hash, location->line[k]->function_id), (uint64_t)location->line[k]->line);
    return hash;
}

static uint64_t hash_sample(const ProfProfile *profile, size_t i) {
    const ProfSample *sample = profile->sample[i];
    uint64_t hash = mix(0, sample->n_location_id);
    for (size_t k = 0; k < sample->n_location_id; k++)
        hash = mix(hash, sample->location_id[k]);
    for (size_t k = 0; k < sample->n_label; k++)
        hash = mix(mix(mix(hash, (uint64_t)sample->label[k]->key), (uint64_t)sample->label[k]->str),
                   (uint64_t)sample->label[k]->num);
    return hash;
}

static bool locations_equal(const ProfProfile *profile, size_t i, size_t k) {
    const ProfLocation *a = profile->location[i], *b = profile->location[k];
    if (a->mapping_id != b->mapping_id || a->address != b->address || a->is_folded != b->is_folded ||
        a->n_line != b->n_line)
        return false;
    for (size_t line = 0; line < a->n_line; line++)
        if (a->line[line]->function_id != b->line[line]->function_id || a->line[line]->line != b->line[line]->line)
            return false;
    return true;
}

static bool samples_equal(const ProfProfile *profile, size_t i, size_t k) {
    const ProfSample *a = profile->sample[i], *b = profile->sample[k];
    if (a->n_location_id != b->n_location_id || a->n_label != b->n_label ||
        memcmp(a->location_id, b->location_id, a->n_location_id * sizeof a->location_id[0]) != 0)
        return false;
    for (size_t l = 0; l < a->n_label; l++)
        if (a->label[l]->key != b->label[l]->key || a->label[l]->str != b->label[l]->str ||
            a->label[l]->num != b->label[l]->num || a->label[l]->num_unit != b->label[l]->num_unit)
            return false;
    return true;
}

struct kind {
    uint64_t (*hash)(const ProfProfile *profile, size_t i);
    bool (*equal)(const ProfProfile *profile, size_t i, size_t k);
};

static size_t find_or_enter(struct merge_table *table, const struct kind *kind, const ProfProfile *profile, size_t i) {
    size_t at = kind->hash(profile, i) & (table->size - 1);
    for (; table->slots[at] != 0; at = (at + 1) & (table->size - 1))
        if (kind->equal(profile, table->slots[at] - 1, i))
            return table->slots[at] - 1;
    table->slots[at] = (uint32_t)i + 1;
    return i;
}

size_t merge_find_location(struct merge_table *table, const ProfProfile *profile, size_t i) {
    static const struct kind kind = {hash_location, locations_equal};
    return find_or_enter(table, &kind, profile, i);
}

size_t merge_find_sample(struct merge_table *table, const ProfProfile *profile, size_t i) {
    static const struct kind kind = {hash_sample, samples_equal};
    return find_or_enter(table, &kind, profile, i);
}

int merge_table_init(struct merge_table *table, size_t most) {
    for (table->size = 1024; table->size <= 2 * most;)
        table->size *= 2;
    table->slots = most < UINT32_MAX ? calloc(table->size, sizeof *table->slots) : NULL;
    return table->slots ? 0 : -ENOMEM;
}
