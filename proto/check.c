/* SPDX-License-Identifier: Apache-2.0 */
/* How: one function for each table of the profile. `struct check` knows which entry is being looked at, so that a rule
 * only says what is wrong. Later rules may follow references that an earlier one found broken: each looks for itself.
 */
#include "proto/check.h"

#include "proto/ids.h"
#include "proto/utf8.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

struct check {
    const ProfProfile *profile;
    check_report *report;
    void *ctx;
    unsigned faults;
    const char *kind; /* where we are: "sample" and its number, from 1; or the number -1 */
    int64_t number;
    struct ids mappings, locations, functions;
    int inuse[2]; /* sample types of the pairs inuse_X, alloc_X; -1: none */
    int alloc[2];
};

static void at(struct check *c, const char *kind, int64_t number) {
    c->kind = kind;
    c->number = number;
}

static bool full(const struct check *c) {
    return c->faults >= CHECK_FAULTS_MAX;
}

__attribute__((format(printf, 2, 3))) static void fault(struct check *c, const char *format, ...) {
    char where[64];
    char what[256];
    va_list args;

    if (full(c))
        return;
    c->faults++;
    if (c->number >= 0)
        snprintf(where, sizeof where, "%s %" PRId64, c->kind, c->number);
    else
        snprintf(where, sizeof where, "%s", c->kind);
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    c->report(c->ctx, where, what);
}

/* True if the index is one of a string. Index 0 means "none" even where the strings are missing, which was said. */
static bool check_text(struct check *c, const char *field, int64_t index) {
    if (index == 0 || (index > 0 && (uint64_t)index < c->profile->n_string_table))
        return true;
    fault(c, "%s is %" PRId64 ", but there are %zu strings", field, index, c->profile->n_string_table);
    return false;
}

static void check_named(struct check *c, const char *field, int64_t index) {
    if (check_text(c, field, index) && profile_text(c->profile, index).len == 0)
        fault(c, "no %s", field);
}

static void check_id(struct check *c, const struct ids *ids, uint64_t id, size_t i) {
    size_t first = ids_find(ids, id);
    if (id == 0)
        fault(c, "its id is 0");
    else if (first != i + 1)
        fault(c, "its id %" PRIu64 " is that of %s %zu, too", id, c->kind, first);
}

static void check_strings(struct check *c) {
    const ProfProfile *p = c->profile;
    at(c, "string", 0);
    if (p->n_string_table == 0)
        fault(c, "missing");
    else if (p->string_table[0].len != 0)
        fault(c, "not empty");
    for (size_t i = 0; i < p->n_string_table && !full(c); i++) {
        size_t len = p->string_table[i].len;
        size_t valid = utf8_valid_length(p->string_table[i].data, len);
        at(c, "string", (int64_t)i);
        if (valid < len)
            fault(c, "not UTF-8: byte 0x%02x at offset %zu", p->string_table[i].data[valid], valid);
    }
}

static void check_sample_types(struct check *c) {
    const ProfProfile *p = c->profile;
    at(c, "profile", -1);
    if (p->n_sample_type == 0)
        fault(c, "no sample types");
    for (size_t i = 0; i < p->n_sample_type && !full(c); i++) {
        at(c, "sample type", (int64_t)i + 1);
        check_named(c, "type", p->sample_type[i]->type);
        check_named(c, "unit", p->sample_type[i]->unit);
        ProtobufCBinaryData name = profile_text(p, p->sample_type[i]->type);
        /* The bound keeps a forged table of a million types from taking a million squared. */
        for (size_t k = 0; k < i && k < CHECK_FAULTS_MAX; k++) {
            ProtobufCBinaryData other = profile_text(p, p->sample_type[k]->type);
            if (name.len == other.len && memcmp(name.data, other.data, name.len) == 0)
                fault(c, "the same as sample type %zu", k + 1);
        }
    }
    c->inuse[0] = profile_sample_type(p, "inuse_objects");
    c->inuse[1] = profile_sample_type(p, "inuse_space");
    c->alloc[0] = profile_sample_type(p, "alloc_objects");
    c->alloc[1] = profile_sample_type(p, "alloc_space");
}

static void check_default_type(struct check *c) {
    const ProfProfile *p = c->profile;
    if (!check_text(c, "default_sample_type", p->default_sample_type) || p->default_sample_type == 0)
        return;
    ProtobufCBinaryData name = profile_text(p, p->default_sample_type);
    for (size_t i = 0; i < p->n_sample_type; i++) {
        ProtobufCBinaryData type = profile_text(p, p->sample_type[i]->type);
        if (type.len == name.len && memcmp(type.data, name.data, name.len) == 0)
            return;
    }
    fault(c, "the default sample type is none of the sample types");
}

static void check_scalars(struct check *c) {
    const ProfProfile *p = c->profile;
    at(c, "profile", -1);
    if (p->time_nanos < 0)
        fault(c, "time_nanos is negative");
    if (p->duration_nanos < 0)
        fault(c, "duration_nanos is negative");
    if (p->period < 0)
        fault(c, "period is negative");
    bool typed = p->period_type && (p->period_type->type != 0 || p->period_type->unit != 0);
    if (p->period > 0 && !typed)
        fault(c, "a period without period_type");
    if (p->period == 0 && typed)
        fault(c, "period_type without a period");
    if (typed) {
        check_named(c, "period_type's type", p->period_type->type);
        check_named(c, "period_type's unit", p->period_type->unit);
    }
    check_default_type(c);
    check_text(c, "drop_frames", p->drop_frames);
    check_text(c, "keep_frames", p->keep_frames);
    check_text(c, "doc_url", p->doc_url);
    for (size_t i = 0; i < p->n_comment && !full(c); i++) {
        at(c, "comment", (int64_t)i + 1);
        check_text(c, "its text", p->comment[i]);
    }
}

static void check_mappings(struct check *c) {
    const ProfProfile *p = c->profile;
    for (size_t i = 0; i < p->n_mapping && !full(c); i++) {
        const ProfMapping *mapping = p->mapping[i];
        at(c, "mapping", (int64_t)i + 1);
        check_id(c, &c->mappings, mapping->id, i);
        if (mapping->memory_start > mapping->memory_limit)
            fault(c, "it starts at 0x%" PRIx64 ", beyond its limit 0x%" PRIx64, mapping->memory_start,
                  mapping->memory_limit);
        check_text(c, "build_id", mapping->build_id);
        if (!check_text(c, "filename", mapping->filename) || i > 0)
            continue;
        ProtobufCBinaryData name = profile_text(p, mapping->filename);
        if (name.len == 0)
            fault(c, "the first mapping is the main binary, and has no file name");
        else if (name.data[0] == '[')
            fault(c, "the first mapping is not the main binary but %.*s", (int)(name.len < 64 ? name.len : 64),
                  (const char *)name.data);
    }
}

static void check_functions(struct check *c) {
    const ProfProfile *p = c->profile;
    for (size_t i = 0; i < p->n_function && !full(c); i++) {
        const ProfFunction *function = p->function[i];
        at(c, "function", (int64_t)i + 1);
        check_id(c, &c->functions, function->id, i);
        check_named(c, "name", function->name);
        check_text(c, "system_name", function->system_name);
        check_text(c, "filename", function->filename);
    }
}

static void check_address(struct check *c, const ProfLocation *location) {
    const ProfProfile *p = c->profile;
    if (location->mapping_id == 0)
        return;
    size_t number = ids_find(&c->mappings, location->mapping_id);
    if (number == 0) {
        fault(c, "there is no mapping %" PRIu64, location->mapping_id);
        return;
    }
    const ProfMapping *mapping = p->mapping[number - 1];
    /* A range of 0 to 0 means that it is not known. */
    bool inside = location->address >= mapping->memory_start && location->address < mapping->memory_limit;
    if (!inside && mapping->memory_limit != 0)
        fault(c, "address 0x%" PRIx64 " is not in its mapping %" PRIu64, location->address, location->mapping_id);
}

static void check_locations(struct check *c) {
    const ProfProfile *p = c->profile;
    for (size_t i = 0; i < p->n_location && !full(c); i++) {
        const ProfLocation *location = p->location[i];
        at(c, "location", (int64_t)i + 1);
        check_id(c, &c->locations, location->id, i);
        check_address(c, location);
        for (size_t k = 0; k < location->n_line && !full(c); k++) {
            uint64_t id = location->line[k]->function_id;
            if (ids_find(&c->functions, id) == 0)
                fault(c, "line %zu: there is no function %" PRIu64, k + 1, id);
        }
    }
}

static void check_values(struct check *c, const ProfSample *sample) {
    const ProfProfile *p = c->profile;
    if (sample->n_value != p->n_sample_type) {
        fault(c, "%zu values for %zu sample types", sample->n_value, p->n_sample_type);
        return;
    }
    for (size_t k = 0; k < sample->n_value; k++)
        if (sample->value[k] < 0)
            fault(c, "value %zu is negative", k + 1);
    for (int k = 0; k < 2; k++)
        if (c->inuse[k] >= 0 && c->alloc[k] >= 0 && sample->value[c->inuse[k]] > sample->value[c->alloc[k]])
            fault(c, "%s in use are more than were allocated: %" PRId64 " > %" PRId64, k == 0 ? "objects" : "bytes",
                  sample->value[c->inuse[k]], sample->value[c->alloc[k]]);
}

static void check_labels(struct check *c, const ProfSample *sample) {
    for (size_t k = 0; k < sample->n_label && !full(c); k++) {
        const ProfLabel *label = sample->label[k];
        check_named(c, "label key", label->key);
        check_text(c, "label text", label->str);
        check_text(c, "label unit", label->num_unit);
        if (label->str != 0 && (label->num != 0 || label->num_unit != 0))
            fault(c, "label %zu is both a text and a number", k + 1);
    }
}

static void check_samples(struct check *c) {
    const ProfProfile *p = c->profile;
    for (size_t i = 0; i < p->n_sample && !full(c); i++) {
        const ProfSample *sample = p->sample[i];
        at(c, "sample", (int64_t)i + 1);
        for (size_t k = 0; k < sample->n_location_id; k++) {
            uint64_t id = sample->location_id[k];
            if (ids_find(&c->locations, id) == 0)
                fault(c, "there is no location %" PRIu64, id);
        }
        check_values(c, sample);
        check_labels(c, sample);
    }
}

unsigned profile_check(const ProfProfile *profile, check_report *report, void *ctx) {
    struct check check = {.profile = profile, .report = report, .ctx = ctx};
    at(&check, "profile", -1);
    if (ids_init(&check.mappings, profile, profile->n_mapping, ids_mapping) != 0 ||
        ids_init(&check.locations, profile, profile->n_location, ids_location) != 0 ||
        ids_init(&check.functions, profile, profile->n_function, ids_function) != 0)
        fault(&check, "out of memory");
    check_strings(&check);
    check_sample_types(&check);
    check_scalars(&check);
    check_mappings(&check);
    check_functions(&check);
    check_locations(&check);
    check_samples(&check);
    ids_release(&check.mappings);
    ids_release(&check.locations);
    ids_release(&check.functions);
    return check.faults;
}
