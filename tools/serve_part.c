/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/serve_part.h"

#include "proto/reader.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static int64_t add_text(ProfProfile *to, const ProfProfile *from, int64_t index) {
    ProtobufCBinaryData text = profile_text(from, index);
    uint8_t *copy = malloc(text.len + 1);
    if (!copy)
        return -1;
    memcpy(copy, text.data, text.len);
    to->string_table[to->n_string_table] = (ProtobufCBinaryData){.len = text.len, .data = copy};
    return (int64_t)to->n_string_table++;
}

ProfProfile *name_part_new(const ProfProfile *profile, const ProfMapping *mapping, size_t room) {
    ProfProfile *part = malloc(sizeof *part);
    if (!part)
        return NULL;
    perftools__profiles__profile__init(part);
    part->time_nanos = profile->time_nanos;
    part->duration_nanos = profile->duration_nanos;
    part->string_table = calloc(3, sizeof part->string_table[0]);
    part->n_string_table = part->string_table ? 1 : 0;
    part->location = calloc(room + 1, sizeof(ProfLocation *));
    part->mapping = calloc(1, sizeof(ProfMapping *));
    bool good = part->string_table && part->location && part->mapping;
    if (good && mapping) {
        ProfMapping *copy = part->mapping[0] = malloc(sizeof *copy);
        good = copy != NULL;
        if (good) {
            part->n_mapping = 1;
            *copy = (ProfMapping)PERFTOOLS__PROFILES__MAPPING__INIT;
            copy->id = 1;
            copy->memory_start = mapping->memory_start;
            copy->memory_limit = mapping->memory_limit;
            copy->file_offset = mapping->file_offset;
            copy->filename = add_text(part, profile, mapping->filename);
            copy->build_id = add_text(part, profile, mapping->build_id);
            good = copy->filename >= 0 && copy->build_id >= 0;
        }
    }
    if (good)
        return part;
    profile_free(part);
    return NULL;
}

int name_part_add(ProfProfile *part, uint64_t address) {
    ProfLocation *location = malloc(sizeof *location);
    if (!location)
        return -ENOMEM;
    perftools__profiles__location__init(location);
    location->address = address;
    location->mapping_id = part->n_mapping;
    part->location[part->n_location++] = location;
    location->id = part->n_location;
    return 0;
}
