/* SPDX-License-Identifier: Apache-2.0 */
/* How: entries of `other` are looked up in the profile by what they are, and added where they are new. The profile is
 * first merged with itself, so that of samples with one stack it has one. */
#include "tools/merge.h"

#include "tools/merge_table.h"
#include "tools/sums.h"
#include "tools/symbolize_names.h"

#include <errno.h>
#include <stdlib.h>

struct merging {
    ProfProfile *profile;
    struct names names;
    struct merge_table locations, samples;
    size_t mapping_room, location_room, sample_room;
    /* What becomes of the entries of the other profile, by index; 0 in the last three: not known yet. */
    const ProfProfile *other;
    uint64_t *mapping_of, *location_of, *function_of;
    int64_t *text_of; /* -1: not known yet */
};

static bool texts_equal(const ProfProfile *a, int64_t i, const ProfProfile *b, int64_t k) {
    ProtobufCBinaryData left = profile_text(a, i), right = profile_text(b, k);
    return left.len == right.len && memcmp(left.data, right.data, left.len) == 0;
}

static bool types_equal(const ProfProfile *a, const ProfValueType *left, const ProfProfile *b,
                        const ProfValueType *right) {
    static const ProfValueType none = PERFTOOLS__PROFILES__VALUE_TYPE__INIT;
    left = left ? left : &none;
    right = right ? right : &none;
    return texts_equal(a, left->type, b, right->type) && texts_equal(a, left->unit, b, right->unit);
}

static bool comparable(const ProfProfile *a, const ProfProfile *b) {
    if (a->n_sample_type != b->n_sample_type || !types_equal(a, a->period_type, b, b->period_type))
        return false;
    for (size_t i = 0; i < a->n_sample_type; i++)
        if (!types_equal(a, a->sample_type[i], b, b->sample_type[i]))
            return false;
    return true;
}

static int grow(void *entries_pointer, size_t count, size_t *room) {
    void **entries = entries_pointer;
    if (count < *room)
        return 0;
    size_t more = *room < 64 ? 128 : 2 * *room;
    void *larger = realloc(*entries, more * sizeof(void *));
    if (!larger)
        return -ENOMEM;
    *entries = larger;
    *room = more;
    return 0;
}

/* ---- Entries of the other profile ---- */

static int64_t text_of(struct merging *m, int64_t index) {
    ProtobufCBinaryData text = profile_text(m->other, index);
    if (text.len == 0)
        return 0;
    if (m->text_of[index] < 0)
        m->text_of[index] = names_text(&m->names, (const char *)text.data, text.len);
    return m->text_of[index];
}

static uint64_t pages(const ProfMapping *mapping) {
    return (mapping->memory_limit - mapping->memory_start + 4095) / 4096;
}

/* The same file at the same place in it; where it was in memory makes no difference. */
static bool same_mapping(const ProfProfile *a, const ProfMapping *left, const ProfProfile *b,
                         const ProfMapping *right) {
    if (pages(left) != pages(right) || left->file_offset != right->file_offset)
        return false;
    int64_t l = profile_text(a, left->build_id).len > 0 ? left->build_id : left->filename;
    int64_t r = profile_text(b, right->build_id).len > 0 ? right->build_id : right->filename;
    return texts_equal(a, l, b, r);
}

static uint64_t add_mapping(struct merging *m, const ProfMapping *from) {
    ProfProfile *profile = m->profile;
    ProfMapping *mapping = malloc(sizeof *mapping);
    int64_t filename = text_of(m, from->filename), build_id = text_of(m, from->build_id);
    if (!mapping || filename < 0 || build_id < 0 ||
        grow(&profile->mapping, profile->n_mapping, &m->mapping_room) != 0) {
        free(mapping);
        return 0;
    }
    *mapping = *from;
    mapping->base.n_unknown_fields = 0;
    mapping->base.unknown_fields = NULL;
    mapping->filename = filename;
    mapping->build_id = build_id;
    mapping->id = profile->n_mapping + 1;
    profile->mapping[profile->n_mapping++] = mapping;
    return mapping->id;
}

static uint64_t mapping_of(struct merging *m, uint64_t id) {
    uint64_t *known = &m->mapping_of[id - 1];
    const ProfMapping *from = m->other->mapping[id - 1];
    for (size_t i = 0; *known == 0 && i < m->profile->n_mapping; i++)
        if (same_mapping(m->profile, m->profile->mapping[i], m->other, from))
            *known = i + 1;
    if (*known == 0)
        *known = add_mapping(m, from);
    return *known;
}

static uint64_t function_of(struct merging *m, uint64_t id) {
    uint64_t *known = &m->function_of[id - 1];
    if (*known == 0) {
        const ProfFunction *from = m->other->function[id - 1];
        int64_t name = text_of(m, from->name), system_name = text_of(m, from->system_name);
        int64_t filename = text_of(m, from->filename);
        int64_t function = -ENOMEM;
        if (name >= 0 && system_name >= 0 && filename >= 0)
            function = names_function(&m->names, name, system_name, filename, from->start_line);
        *known = function > 0 ? (uint64_t)function : 0;
    }
    return *known;
}

/* Copies it with the profile's own references. NULL without memory. */
static ProfLocation *copy_location(struct merging *m, const ProfLocation *from) {
    ProfLocation *location = malloc(sizeof *location);
    if (!location)
        return NULL;
    perftools__profiles__location__init(location);
    location->address = from->address;
    location->is_folded = from->is_folded;
    location->line = calloc(from->n_line + 1, sizeof(ProfLine *));
    bool good = location->line != NULL;
    if (good && from->mapping_id != 0) {
        location->mapping_id = mapping_of(m, from->mapping_id);
        good = location->mapping_id != 0;
    }
    if (good && location->mapping_id != 0)
        location->address += m->profile->mapping[location->mapping_id - 1]->memory_start -
                             m->other->mapping[from->mapping_id - 1]->memory_start;
    for (size_t i = 0; good && i < from->n_line; i++) {
        ProfLine *line = malloc(sizeof *line);
        if (!line) {
            good = false;
            break;
        }
        perftools__profiles__line__init(line);
        location->line[location->n_line++] = line;
        line->function_id = function_of(m, from->line[i]->function_id);
        line->line = from->line[i]->line;
        line->column = from->line[i]->column;
        good = line->function_id != 0;
    }
    if (good)
        return location;
    protobuf_c_message_free_unpacked(&location->base, NULL);
    return NULL;
}

static uint64_t location_of(struct merging *m, uint64_t id) {
    ProfProfile *profile = m->profile;
    uint64_t *known = &m->location_of[id - 1];
    if (*known != 0)
        return *known;
    if (grow(&profile->location, profile->n_location, &m->location_room) != 0)
        return 0;
    ProfLocation *location = copy_location(m, m->other->location[id - 1]);
    if (!location)
        return 0;
    profile->location[profile->n_location] = location;
    size_t at = merge_find_location(&m->locations, profile, profile->n_location);
    if (at == profile->n_location)
        location->id = ++profile->n_location;
    else
        protobuf_c_message_free_unpacked(&location->base, NULL);
    *known = at + 1;
    return *known;
}

static int by_key(const void *left, const void *right) {
    const ProfLabel *a = *(ProfLabel *const *)left, *b = *(ProfLabel *const *)right;
    if (a->key != b->key)
        return a->key < b->key ? -1 : 1;
    if (a->str != b->str)
        return a->str < b->str ? -1 : 1;
    return a->num < b->num ? -1 : a->num > b->num;
}

static void sort_labels(ProfSample *sample) {
    if (sample->n_label > 1)
        qsort(sample->label, sample->n_label, sizeof(ProfLabel *), by_key);
}

static bool copy_labels(struct merging *m, ProfSample *sample, const ProfSample *from) {
    for (size_t i = 0; i < from->n_label; i++) {
        ProfLabel *label = malloc(sizeof *label);
        if (!label)
            return false;
        perftools__profiles__label__init(label);
        sample->label[sample->n_label++] = label;
        label->key = text_of(m, from->label[i]->key);
        label->str = text_of(m, from->label[i]->str);
        label->num = from->label[i]->num;
        label->num_unit = text_of(m, from->label[i]->num_unit);
        if (label->key < 0 || label->str < 0 || label->num_unit < 0)
            return false;
    }
    sort_labels(sample);
    return true;
}

static ProfSample *copy_sample(struct merging *m, const ProfSample *from, int sign) {
    ProfSample *sample = malloc(sizeof *sample);
    if (!sample)
        return NULL;
    perftools__profiles__sample__init(sample);
    sample->location_id = calloc(from->n_location_id + 1, sizeof sample->location_id[0]);
    sample->value = calloc(from->n_value + 1, sizeof sample->value[0]);
    sample->label = calloc(from->n_label + 1, sizeof(ProfLabel *));
    bool good = sample->location_id && sample->value && sample->label && copy_labels(m, sample, from);
    for (size_t i = 0; good && i < from->n_location_id; i++) {
        sample->location_id[sample->n_location_id++] = location_of(m, from->location_id[i]);
        good = sample->location_id[i] != 0;
    }
    for (size_t i = 0; good && i < from->n_value; i++)
        sample->value[sample->n_value++] = sign < 0 ? negative_of(from->value[i]) : from->value[i];
    if (good)
        return sample;
    protobuf_c_message_free_unpacked(&sample->base, NULL);
    return NULL;
}

static void add_values(ProfSample *to, const ProfSample *from) {
    for (size_t i = 0; i < to->n_value; i++)
        to->value[i] = sum_of(to->value[i], from->value[i]);
}

/* Takes the sample over. */
static int enter_sample(struct merging *m, ProfSample *sample) {
    ProfProfile *profile = m->profile;
    if (grow(&profile->sample, profile->n_sample, &m->sample_room) != 0) {
        protobuf_c_message_free_unpacked(&sample->base, NULL);
        return -ENOMEM;
    }
    profile->sample[profile->n_sample] = sample;
    size_t at = merge_find_sample(&m->samples, profile, profile->n_sample);
    if (at == profile->n_sample) {
        profile->n_sample++;
    } else {
        add_values(profile->sample[at], sample);
        protobuf_c_message_free_unpacked(&sample->base, NULL);
    }
    return 0;
}

/* ---- The whole ---- */

/* A library that was loaded twice is one mapping, the first. */
static void fold_mappings(ProfProfile *profile) {
    for (size_t i = 0; i < profile->n_location; i++) {
        ProfLocation *location = profile->location[i];
        if (location->mapping_id == 0)
            continue;
        const ProfMapping *own = profile->mapping[location->mapping_id - 1], *first = own;
        for (size_t k = location->mapping_id - 1; k-- > 0;)
            if (same_mapping(profile, own, profile, profile->mapping[k]))
                first = profile->mapping[k];
        location->address += first->memory_start - own->memory_start;
        location->mapping_id = first->id;
    }
}

/* Of locations that are the same, samples are to use the first. */
static int merge_with_itself(struct merging *m) {
    ProfProfile *profile = m->profile;
    fold_mappings(profile);
    uint64_t *first = calloc(profile->n_location + 1, sizeof *first);
    if (!first)
        return -ENOMEM;
    for (size_t i = 0; i < profile->n_location; i++)
        first[i] = merge_find_location(&m->locations, profile, i) + 1;
    size_t count = profile->n_sample;
    profile->n_sample = 0;
    for (size_t i = 0; i < count; i++) {
        ProfSample *sample = profile->sample[i];
        for (size_t k = 0; k < sample->n_location_id; k++)
            sample->location_id[k] = first[sample->location_id[k] - 1];
        sort_labels(sample);
        enter_sample(m, sample); /* there is room */
    }
    free(first);
    return 0;
}

static void drop_zeros(ProfProfile *profile) {
    size_t kept = 0;
    for (size_t i = 0; i < profile->n_sample; i++) {
        ProfSample *sample = profile->sample[i];
        bool zero = true;
        for (size_t k = 0; k < sample->n_value; k++)
            zero &= sample->value[k] == 0;
        if (zero)
            protobuf_c_message_free_unpacked(&sample->base, NULL);
        else
            profile->sample[kept++] = sample;
    }
    profile->n_sample = kept;
}

static int merge_head(struct merging *m) {
    ProfProfile *profile = m->profile;
    const ProfProfile *other = m->other;
    if (profile->time_nanos == 0 || other->time_nanos < profile->time_nanos)
        profile->time_nanos = other->time_nanos;
    profile->duration_nanos = sum_of(profile->duration_nanos, other->duration_nanos);
    if (profile->period < other->period)
        profile->period = other->period;
    if (profile->default_sample_type == 0)
        profile->default_sample_type = text_of(m, other->default_sample_type);
    int64_t *comments = realloc(profile->comment, (profile->n_comment + other->n_comment + 1) * sizeof *comments);
    if (!comments)
        return -ENOMEM;
    profile->comment = comments;
    for (size_t i = 0; i < other->n_comment; i++) {
        int64_t text = text_of(m, other->comment[i]);
        size_t k = 0;
        if (text < 0)
            return -ENOMEM;
        while (k < profile->n_comment && comments[k] != text)
            k++;
        if (k == profile->n_comment)
            comments[profile->n_comment++] = text;
    }
    return profile->default_sample_type < 0 ? -ENOMEM : 0;
}

static int merging_init(struct merging *m, ProfProfile *profile, const ProfProfile *other) {
    *m = (struct merging){
        .profile = profile,
        .other = other,
        .mapping_room = profile->n_mapping,
        .location_room = profile->n_location,
        .sample_room = profile->n_sample,
    };
    if (names_init(&m->names, profile) != 0 ||
        merge_table_init(&m->locations, profile->n_location + other->n_location) != 0 ||
        merge_table_init(&m->samples, profile->n_sample + other->n_sample) != 0)
        return -ENOMEM;
    m->mapping_of = calloc(other->n_mapping + 1, sizeof *m->mapping_of);
    m->location_of = calloc(other->n_location + 1, sizeof *m->location_of);
    m->function_of = calloc(other->n_function + 1, sizeof *m->function_of);
    m->text_of = malloc((other->n_string_table + 1) * sizeof *m->text_of);
    if (!m->mapping_of || !m->location_of || !m->function_of || !m->text_of)
        return -ENOMEM;
    for (size_t i = 0; i < other->n_string_table; i++)
        m->text_of[i] = -1;
    return 0;
}

static void merging_release(struct merging *m) {
    names_release(&m->names);
    free(m->locations.slots);
    free(m->samples.slots);
    free(m->mapping_of);
    free(m->location_of);
    free(m->function_of);
    free(m->text_of);
}

static int merge(ProfProfile *profile, const ProfProfile *other, int sign, const char **reason) {
    struct merging m;
    *reason = "the profiles are of different types";
    if (!comparable(profile, other))
        return -EINVAL;
    int rc = merging_init(&m, profile, other);
    if (rc == 0)
        rc = merge_with_itself(&m);
    for (size_t i = 0; rc == 0 && i < other->n_sample; i++) {
        ProfSample *sample = copy_sample(&m, other->sample[i], sign);
        rc = sample ? enter_sample(&m, sample) : -ENOMEM;
    }
    if (rc == 0)
        rc = merge_head(&m);
    drop_zeros(profile);
    merging_release(&m);
    return rc;
}

int merge_add(ProfProfile *profile, const ProfProfile *other, const char **reason) {
    return merge(profile, other, 1, reason);
}

int merge_subtract(ProfProfile *profile, const ProfProfile *other, const char **reason) {
    return merge(profile, other, -1, reason);
}

int merge_samples(ProfProfile *profile) {
    struct merging m;
    int rc = merging_init(&m, profile, profile);
    if (rc == 0)
        rc = merge_with_itself(&m);
    drop_zeros(profile);
    merging_release(&m);
    return rc;
}
