/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/tag_pattern.h"

#include "tools/units.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- The expression ---- */

/* Length of a number with a unit, as in "4kb" or "-1"; 0 if there is none. */
static size_t number_len(const char *text) {
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    size_t sign = text[0] == '+' || text[0] == '-';
    size_t digits = strspn(text + sign, "0123456789");
    return digits > 0 ? sign + digits + strspn(text + sign + digits, letters) : 0;
}

/* N, N:, :N or N:N */
static bool is_range(const char *text) {
    size_t from = number_len(text);
    if (text[from] != ':')
        return from > 0 && text[from] == '\0';
    size_t to = number_len(text + from + 1);
    return from + to > 0 && text[from + 1 + to] == '\0';
}

/* False if the unit is none that there could be. */
static bool set_bound(struct tag_bound *bound, const char *text, size_t len) {
    char *unit;
    if (len == 0)
        return true;
    bound->there = true;
    bound->value = strtoll(text, &unit, 10);
    size_t unit_len = len - (size_t)(unit - text);
    if (unit_len >= sizeof bound->unit)
        return false;
    memcpy(bound->unit, unit, unit_len);
    bound->unit[unit_len] = '\0';
    return true;
}

static bool is_known_unit(const struct tag_bound *bound) {
    return bound->unit[0] == '\0' || units_is_known(bound->unit);
}

static bool set_range(struct tag_pattern *tags, const char *text, const char **reason) {
    size_t from = number_len(text), colon = text[from] == ':';
    tags->is_range = true;
    *reason = "a range's unit is not known";
    if (!set_bound(&tags->low, text, from) ||
        !set_bound(&tags->high, text + from + colon, number_len(text + from + colon)) || !is_known_unit(&tags->low) ||
        !is_known_unit(&tags->high))
        return false;
    if (!colon)
        tags->high = tags->low;
    *reason = "of a range's ends one has a unit and the other has none";
    return !tags->low.there || !tags->high.there || (tags->low.unit[0] == '\0') == (tags->high.unit[0] == '\0');
}

bool tag_pattern_init(struct tag_pattern *tags, const char *text, const char **reason) {
    const char *equals = strchr(text, '=');
    /* An empty key is none to pprof. */
    *tags = (struct tag_pattern){.key = equals > text ? text : NULL, .key_len = equals ? (size_t)(equals - text) : 0};
    const char *at = equals ? equals + 1 : text;
    if (is_range(at))
        return set_range(tags, at, reason);
    size_t most = 1;
    for (const char *c = at; *c; c++)
        most += *c == ',';
    tags->patterns = calloc(most, sizeof *tags->patterns);
    *reason = "it takes too much memory";
    for (; tags->patterns && tags->count < most; tags->count++) {
        size_t len = strcspn(at, ",");
        if (!pattern_init(&tags->patterns[tags->count], at, len, false, reason))
            break;
        at += len + (at[len] == ',');
    }
    if (tags->patterns && tags->count == most)
        return true;
    tag_pattern_release(tags);
    return false;
}

void tag_pattern_release(struct tag_pattern *tags) {
    for (size_t i = 0; i < tags->count; i++)
        pattern_release(&tags->patterns[i]);
    free(tags->patterns);
    *tags = (struct tag_pattern){0};
}

/* ---- Labels ---- */

/* What is matched of a label. `room` gets memory where it has to be put together. False without that. */
static bool matched_text(const struct tag_pattern *tags, const ProfProfile *profile, const ProfLabel *label,
                         char **room, ProtobufCBinaryData *text) {
    ProtobufCBinaryData key = profile_text(profile, label->key);
    *text = profile_text(profile, label->str);
    if (tags->key)
        return true;
    char *whole = realloc(*room, key.len + text->len + 1);
    if (!whole)
        return false;
    *room = whole;
    memcpy(whole, key.data, key.len);
    whole[key.len] = ':';
    memcpy(whole + key.len + 1, text->data, text->len);
    *text = (ProtobufCBinaryData){.data = (uint8_t *)whole, .len = key.len + 1 + text->len};
    return true;
}

static bool has_key(const struct tag_pattern *tags, ProtobufCBinaryData key) {
    return !tags->key || (key.len == tags->key_len && memcmp(key.data, tags->key, key.len) == 0);
}

static bool is_meant(const struct tag_pattern *tags, const ProfProfile *profile, const ProfLabel *label) {
    return label->str != 0 && has_key(tags, profile_text(profile, label->key));
}

/* Whether one of the labels matches one expression; or -ENOMEM. */
static int some_label_matches(const struct tag_pattern *tags, const struct pattern *pattern, const ProfProfile *profile,
                              const ProfSample *sample) {
    char *room = NULL;
    int found = 0;
    for (size_t i = 0; found == 0 && i < sample->n_label; i++) {
        ProtobufCBinaryData text;
        if (!is_meant(tags, profile, sample->label[i]))
            continue;
        if (matched_text(tags, profile, sample->label[i], &room, &text))
            found = pattern_matches(pattern, text.data, text.len);
        else
            found = -ENOMEM;
    }
    free(room);
    return found;
}

/* Negative, 0, positive: the number is less than the bound, it, more; or 2 if they can't be compared. */
static int compare_to(const struct tag_bound *bound, int64_t number, const char *unit) {
    const char *ours, *theirs, *in = bound->unit[0] ? bound->unit : unit;
    double value = units_scale(number, unit, in, &ours);
    double limit = units_scale(bound->value, in, in, &theirs);
    return strcmp(ours, theirs) != 0 ? 2 : value < limit ? -1 : value > limit;
}

static bool is_in_range(const struct tag_pattern *tags, const ProfProfile *profile, const ProfLabel *label) {
    ProtobufCBinaryData key = profile_text(profile, label->key), unit = profile_text(profile, label->num_unit);
    char text[32];
    if (label->str != 0 || !has_key(tags, key))
        return false;
    if (unit.len == 0)
        unit = key;
    snprintf(text, sizeof text, "%.*s", (int)unit.len, (const char *)unit.data);
    int low = tags->low.there ? compare_to(&tags->low, label->num, text) : 0;
    int high = tags->high.there ? compare_to(&tags->high, label->num, text) : 0;
    return (low == 0 || low == 1) && high <= 0;
}

static bool some_label_in_range(const struct tag_pattern *tags, const ProfProfile *profile, const ProfSample *sample) {
    for (size_t i = 0; i < sample->n_label; i++)
        if (is_in_range(tags, profile, sample->label[i]))
            return true;
    return false;
}

int tag_pattern_matches(const struct tag_pattern *tags, const ProfProfile *profile, const ProfSample *sample) {
    if (tags->is_range)
        return some_label_in_range(tags, profile, sample);
    /* Of a key's expressions one must match, and otherwise all: so the first that decides it does. */
    int deciding = tags->key ? 1 : 0, found = 1 - deciding;
    for (size_t i = 0; found == 1 - deciding && i < tags->count; i++)
        found = some_label_matches(tags, &tags->patterns[i], profile, sample);
    return found;
}
