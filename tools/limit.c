/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/limit.h"

#include "tools/tool.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool limit_parse(struct limit *limit, const char *text) {
    const char *colon = strchr(text, ':');
    const char *relation = NULL;
    /* The function may be an operator<= itself. */
    for (const char *at = colon; at && (at = strstr(at, "<=")); at++)
        relation = at;
    if (!colon || colon == text || !relation || relation <= colon + 1) {
        tool_error(text, "not a limit; TYPE:FUNCTION<=BYTES is one");
        return false;
    }
    limit->text = text;
    limit->type = text;
    limit->type_len = (size_t)(colon - text);
    limit->function = colon + 1;
    limit->function_len = (size_t)(relation - limit->function);
    if (!tool_parse_bytes(relation + 2, &limit->most)) {
        tool_error(text, "'%s' is not a number; digits and K, M, G or T are", relation + 2);
        return false;
    }
    return true;
}

static int find_type(const struct limit *limit, const ProfProfile *profile) {
    for (size_t i = 0; i < profile->n_sample_type; i++) {
        ProtobufCBinaryData name = profile_text(profile, profile->sample_type[i]->type);
        if (name.len == limit->type_len && memcmp(name.data, limit->type, name.len) == 0)
            return (int)i;
    }
    return -1;
}

/* The name itself, or the name and then its parameters in parentheses. */
static bool is_named(const struct limit *limit, ProtobufCBinaryData name) {
    return name.len >= limit->function_len && memcmp(name.data, limit->function, limit->function_len) == 0 &&
           (name.len == limit->function_len || name.data[limit->function_len] == '(');
}

static bool is_function(const struct limit *limit, const ProfProfile *profile, const ProfFunction *function) {
    return is_named(limit, profile_text(profile, function->name)) ||
           is_named(limit, profile_text(profile, function->system_name));
}

/* Whether the profile knows the function, in a stack or not. */
static bool has_function(const struct limit *limit, const ProfProfile *profile) {
    for (size_t i = 0; i < profile->n_function; i++)
        if (is_function(limit, profile, profile->function[i]))
            return true;
    return false;
}

/* Names in brackets are cprof's own, for what has no function. */
static bool has_symbols(const ProfProfile *profile) {
    for (size_t i = 0; i < profile->n_function; i++) {
        ProtobufCBinaryData name = profile_text(profile, profile->function[i]->name);
        if (name.len > 0 && name.data[0] != '[')
            return true;
    }
    return false;
}

/* Marks the locations that hold the function, inlined or not; by id - 1. NULL without memory. */
static bool *find_locations(const struct limit *limit, const ProfProfile *profile) {
    bool *found = calloc(profile->n_location + 1, sizeof *found);
    for (size_t i = 0; found && i < profile->n_location; i++) {
        const ProfLocation *location = profile->location[i];
        /* Inlined functions have their lines here: what they allocate counts as theirs. */
        for (size_t k = 0; k < location->n_line && !found[i]; k++)
            found[i] = is_function(limit, profile, profile->function[location->line[k]->function_id - 1]);
    }
    return found;
}

static uint64_t sum_samples(const ProfProfile *profile, const bool *found, int type) {
    uint64_t sum = 0;
    for (size_t i = 0; i < profile->n_sample; i++) {
        const ProfSample *sample = profile->sample[i];
        bool holds = false;
        for (size_t k = 0; k < sample->n_location_id && !holds; k++)
            holds = found[sample->location_id[k] - 1];
        if (holds && __builtin_add_overflow(sum, (uint64_t)sample->value[type], &sum))
            return UINT64_MAX;
    }
    return sum;
}

int limit_check(const struct limit *limit, const ProfProfile *profile, const char *file, bool allow_missing) {
    int type = find_type(limit, profile);
    if (type < 0) {
        tool_error(file, "no sample type '%.*s'", (int)limit->type_len, limit->type);
        return EXIT_INPUT;
    }
    if (profile->n_sample > 0 && !has_symbols(profile)) {
        tool_error(file, "has no function names, so '%s' can't be judged; run 'cprof symbolize' first", limit->text);
        return EXIT_INPUT;
    }
    if (!allow_missing && !has_function(limit, profile)) {
        tool_error(file, "has no function '%.*s', so '%s' can't be judged; --allow-missing takes it for 0",
                   (int)limit->function_len, limit->function, limit->text);
        return EXIT_INPUT;
    }
    bool *found = find_locations(limit, profile);
    if (!found) {
        tool_error(file, "out of memory");
        return EXIT_SYSTEM;
    }
    uint64_t sum = sum_samples(profile, found, type);
    free(found);
    const char *estimated = profile->period > 1 ? " (estimated)" : "";
    if (sum > limit->most) {
        tool_error(file, "%.*s: %.*s is %" PRIu64 "%s, over the limit of %" PRIu64, (int)limit->function_len,
                   limit->function, (int)limit->type_len, limit->type, sum, estimated, limit->most);
        return EXIT_FAULT;
    }
    printf("%s: %.*s: %.*s is %" PRIu64 "%s, within the limit of %" PRIu64 "\n", file, (int)limit->function_len,
           limit->function, (int)limit->type_len, limit->type, sum, estimated, limit->most);
    return EXIT_OK;
}
