/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/symbolize_names.h"

#include "proto/utf8.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

static uint64_t hash_bytes(const void *bytes, size_t len) {
    const unsigned char *at = bytes;
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < len; i++)
        hash = (hash ^ at[i]) * UINT64_C(0x100000001b3);
    return hash ^ hash >> 29;
}

static uint64_t hash_text(const ProfProfile *profile, size_t i) {
    return hash_bytes(profile->string_table[i].data, profile->string_table[i].len);
}

static uint64_t hash_fields(const int64_t fields[4]) {
    return hash_bytes(fields, 4 * sizeof fields[0]);
}

static uint64_t hash_function(const ProfProfile *profile, size_t i) {
    const ProfFunction *f = profile->function[i];
    return hash_fields((int64_t[]){f->name, f->system_name, f->filename, f->start_line});
}

/* ---- Tables ---- */

static void enter(struct names_table *table, uint64_t hash, size_t index) {
    size_t at = hash & (table->size - 1);
    while (table->slots[at] != 0)
        at = (at + 1) & (table->size - 1);
    table->slots[at] = (uint32_t)index + 1;
    table->used++;
}

/* Makes room for one more: at most half of it is in use. */
static int make_room(struct names_table *table, const ProfProfile *profile,
                     uint64_t hash_of(const ProfProfile *profile, size_t i), size_t count) {
    if (table->size > 2 * (count + 1))
        return 0;
    struct names_table larger = {.size = 1024};
    while (larger.size <= 4 * (count + 1))
        larger.size *= 2;
    larger.slots = calloc(larger.size, sizeof *larger.slots);
    if (!larger.slots || count >= UINT32_MAX) {
        free(larger.slots);
        return -ENOMEM;
    }
    for (size_t i = 0; i < count; i++)
        enter(&larger, hash_of(profile, i), i);
    free(table->slots);
    *table = larger;
    return 0;
}

int names_init(struct names *names, ProfProfile *profile) {
    *names = (struct names){
        .profile = profile,
        .text_room = profile->n_string_table,
        .function_room = profile->n_function,
    };
    if (make_room(&names->texts, profile, hash_text, profile->n_string_table) != 0 ||
        make_room(&names->functions, profile, hash_function, profile->n_function) != 0)
        return -ENOMEM;
    return 0;
}

void names_release(struct names *names) {
    free(names->texts.slots);
    free(names->functions.slots);
    *names = (struct names){0};
}

/* ---- Entries ---- */

static int grow(void **entries, size_t size, size_t count, size_t *room) {
    if (count < *room)
        return 0;
    size_t more = *room < 64 ? 128 : 2 * *room;
    void *larger = realloc(*entries, more * size);
    if (!larger)
        return -ENOMEM;
    *entries = larger;
    *room = more;
    return 0;
}

static int64_t find_text(const struct names *names, const void *text, size_t len, uint64_t hash) {
    const struct names_table *table = &names->texts;
    for (size_t at = hash & (table->size - 1); table->slots[at] != 0; at = (at + 1) & (table->size - 1)) {
        const ProtobufCBinaryData *entry = &names->profile->string_table[table->slots[at] - 1];
        if (entry->len == len && memcmp(entry->data, text, len) == 0)
            return table->slots[at] - 1;
    }
    return -1;
}

static int64_t add_text(struct names *names, const void *text, size_t len) {
    ProfProfile *profile = names->profile;
    uint64_t hash = hash_bytes(text, len);
    int64_t found = find_text(names, text, len, hash);
    if (found >= 0)
        return found;
    if (make_room(&names->texts, profile, hash_text, profile->n_string_table) != 0 ||
        grow((void **)&profile->string_table, sizeof *profile->string_table, profile->n_string_table,
             &names->text_room) != 0)
        return -ENOMEM;
    uint8_t *data = malloc(len > 0 ? len : 1);
    if (!data)
        return -ENOMEM;
    memcpy(data, text, len);
    enter(&names->texts, hash, profile->n_string_table);
    profile->string_table[profile->n_string_table] = (ProtobufCBinaryData){.len = len, .data = data};
    return (int64_t)profile->n_string_table++;
}

int64_t names_text(struct names *names, const char *text, size_t len) {
    const unsigned char *at = (const unsigned char *)text;
    if (len == 0 || utf8_valid_length(at, len) == len)
        return len == 0 ? 0 : add_text(names, text, len);
    char *valid = malloc(len * UTF8_REPLACEMENT_LEN);
    size_t to = 0;
    if (!valid)
        return -ENOMEM;
    for (size_t i = 0; i < len;) {
        size_t n = utf8_character(at + i, len - i);
        memcpy(valid + to, n > 0 ? text + i : UTF8_REPLACEMENT, n > 0 ? n : UTF8_REPLACEMENT_LEN);
        to += n > 0 ? n : UTF8_REPLACEMENT_LEN;
        i += n > 0 ? n : 1;
    }
    int64_t index = add_text(names, valid, to);
    free(valid);
    return index;
}

int64_t names_function(struct names *names, int64_t name, int64_t system_name, int64_t filename, int64_t start_line) {
    ProfProfile *profile = names->profile;
    const int64_t fields[4] = {name, system_name, filename, start_line};
    const struct names_table *table = &names->functions;
    uint64_t hash = hash_fields(fields);
    for (size_t at = hash & (table->size - 1); table->slots[at] != 0; at = (at + 1) & (table->size - 1)) {
        const ProfFunction *f = profile->function[table->slots[at] - 1];
        if (f->name == name && f->system_name == system_name && f->filename == filename && f->start_line == start_line)
            return (int64_t)f->id;
    }
    if (make_room(&names->functions, profile, hash_function, profile->n_function) != 0 ||
        grow((void **)&profile->function, sizeof *profile->function, profile->n_function, &names->function_room) != 0)
        return -ENOMEM;
    ProfFunction *function = malloc(sizeof *function);
    if (!function)
        return -ENOMEM;
    perftools__profiles__function__init(function);
    function->id = profile->n_function + 1;
    function->name = name;
    function->system_name = system_name;
    function->filename = filename;
    function->start_line = start_line;
    enter(&names->functions, hash, profile->n_function);
    profile->function[profile->n_function++] = function;
    return (int64_t)function->id;
}
