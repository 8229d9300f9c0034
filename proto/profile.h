/* SPDX-License-Identifier: Apache-2.0 */
/* A profile in memory: protobuf-c's structs for profile.proto under short names.
 *
 * Lifetime: what profile_read() returned belongs to the caller until profile_free(); everything in it belongs to it. */
#ifndef CPROF_PROTO_PROFILE_H
#define CPROF_PROTO_PROFILE_H

#include "proto/profile.pb-c.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

typedef Perftools__Profiles__Profile ProfProfile;
typedef Perftools__Profiles__ValueType ProfValueType;
typedef Perftools__Profiles__Sample ProfSample;
typedef Perftools__Profiles__Label ProfLabel;
typedef Perftools__Profiles__Mapping ProfMapping;
typedef Perftools__Profiles__Location ProfLocation;
typedef Perftools__Profiles__Line ProfLine;
typedef Perftools__Profiles__Function ProfFunction;

/* The text that an index stands for: `data` holds `len` bytes, which may be any, with no zero byte behind them. An
 * index that stands for nothing gives the empty text. */
static inline ProtobufCBinaryData profile_text(const ProfProfile *profile, int64_t index) {
    static uint8_t none[1];
    if (index < 0 || (uint64_t)index >= profile->n_string_table || profile->string_table[index].len == 0)
        return (ProtobufCBinaryData){.len = 0, .data = none};
    return profile->string_table[index];
}

static inline bool profile_text_is(const ProfProfile *profile, int64_t index, const char *text) {
    ProtobufCBinaryData found = profile_text(profile, index);
    return found.len == strlen(text) && memcmp(found.data, text, found.len) == 0;
}

/* Index of the sample type of that name, or -1. */
static inline int profile_sample_type(const ProfProfile *profile, const char *type) {
    for (size_t i = 0; i < profile->n_sample_type; i++)
        if (profile_text_is(profile, profile->sample_type[i]->type, type))
            return (int)i;
    return -1;
}

#endif
