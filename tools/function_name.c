/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/function_name.h"

#include "tools/demangle.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- One name ---- */

/* Its length without the suffixes that gcc and clang give to clones of a function: isra.0.constprop.1, cold. */
static size_t clone_free_length(const char *name, size_t len) {
    static const char *const words[] = {"constprop", "isra", "part", "cold", "lto_priv", "localalias", "llvm"};
    for (size_t i = 1; i < len; i++) {
        for (size_t k = 0; name[i] == '.' && k < sizeof words / sizeof words[0]; k++) {
            size_t end = i + 1 + strlen(words[k]);
            if (end <= len && memcmp(name + i + 1, words[k], end - i - 1) == 0 && (end == len || name[end] == '.'))
                return i;
        }
    }
    return len;
}

/* How far into `name` the whole of `wanted` goes, blanks left out of both; 0 if it isn't at its start. */
static size_t starts(const char *name, size_t len, const char *wanted, size_t wanted_len) {
    size_t at = 0;
    for (size_t i = 0; i < wanted_len; i++) {
        if (wanted[i] == ' ')
            continue;
        while (at < len && name[at] == ' ')
            at++;
        if (at == len || name[at++] != wanted[i])
            return 0;
    }
    return at;
}

/* The name itself, or the name and then its parameters; behind these there may be more, as "const" is. */
static bool is_whole(const char *name, size_t len, const char *wanted, size_t wanted_len) {
    size_t end = starts(name, len, wanted, wanted_len);
    return end > 0 && (end == len || name[end] == '(' || (wanted[wanted_len - 1] == ')' && name[end] == ' '));
}

static bool is_named(ProtobufCBinaryData name, const char *wanted, size_t len) {
    const char *text = (const char *)name.data;
    return is_whole(text, name.len, wanted, len) || is_whole(text, clone_free_length(text, name.len), wanted, len);
}

/* With the parameters, from the linker's; NULL if that is not such a name. */
static const char *full_name(const ProfProfile *profile, const ProfFunction *function, struct demangled *out) {
    ProtobufCBinaryData name = profile_text(profile, function->system_name);
    char linker[1024];
    if (name.len < 3 || name.len >= sizeof linker || name.data[0] != '_')
        return NULL;
    memcpy(linker, name.data, name.len);
    linker[clone_free_length(linker, name.len)] = '\0';
    const char *full = demangle(linker, DEMANGLE_FULL, out);
    return full == linker ? NULL : full;
}

/* The type that an instance of a template returns is in front of it. */
static bool is_full_name(const char *full, const char *wanted, size_t len) {
    static const char word[] = "operator";
    int depth = 0;
    if (is_whole(full, strlen(full), wanted, len))
        return true;
    for (const char *at = full; *at && *at != '('; at++) {
        depth += (*at == '<') - (*at == '>');
        bool named = at - full >= (long)sizeof word - 1 && memcmp(at - (sizeof word - 1), word, sizeof word - 1) == 0;
        if (*at == ' ' && depth == 0 && !named && is_whole(at + 1, strlen(at + 1), wanted, len))
            return true;
    }
    return false;
}

/* ---- All of them ---- */

/* What tells it from others of its name: the parameters, or the file. For free(). */
static char *distinct_name(const ProfProfile *profile, const ProfFunction *function, struct demangled *out) {
    ProtobufCBinaryData name = profile_text(profile, function->name);
    ProtobufCBinaryData file = profile_text(profile, function->filename);
    const char *full = full_name(profile, function, out);
    if (full)
        return strdup(full);
    char *text;
    size_t len = clone_free_length((const char *)name.data, name.len);
    int rc = asprintf(&text, "%.*s%s%.*s%s", (int)len, (const char *)name.data, file.len > 0 ? " (" : "", (int)file.len,
                      (const char *)file.data, file.len > 0 ? ")" : "");
    return rc < 0 ? NULL : text;
}

static int compare(const void *left, const void *right) {
    return strcmp(*(char *const *)left, *(char *const *)right);
}

static void make_unique(struct function_set *set) {
    size_t kept = 0;
    qsort(set->names, set->n_names, sizeof *set->names, compare);
    for (size_t i = 0; i < set->n_names; i++) {
        if (kept > 0 && strcmp(set->names[kept - 1], set->names[i]) == 0)
            free(set->names[i]);
        else
            set->names[kept++] = set->names[i];
    }
    set->n_names = kept;
}

int function_set_find(struct function_set *set, const ProfProfile *profile, const char *wanted, size_t len) {
    struct demangled *out = malloc(sizeof *out);
    *set = (struct function_set){.has = calloc(profile->n_function + 1, sizeof *set->has),
                                 .names = calloc(profile->n_function + 1, sizeof *set->names)};
    int rc = out && set->has && set->names ? 0 : -ENOMEM;
    for (size_t i = 0; rc == 0 && i < profile->n_function; i++) {
        const ProfFunction *function = profile->function[i];
        const char *full;
        set->has[i] = is_named(profile_text(profile, function->name), wanted, len) ||
                      is_named(profile_text(profile, function->system_name), wanted, len) ||
                      ((full = full_name(profile, function, out)) && is_full_name(full, wanted, len));
        if (!set->has[i])
            continue;
        set->count++;
        set->names[set->n_names] = distinct_name(profile, function, out);
        rc = set->names[set->n_names] ? 0 : -ENOMEM;
        set->n_names += rc == 0;
    }
    free(out);
    if (rc == 0)
        make_unique(set);
    return rc;
}

void function_set_release(struct function_set *set) {
    for (size_t i = 0; i < set->n_names; i++)
        free(set->names[i]);
    free(set->names);
    free(set->has);
}

/* ---- What may have been meant ---- */

/* Without its parameters, and without the scopes around it. */
static ProtobufCBinaryData last_part(ProtobufCBinaryData name) {
    const uint8_t *bracket = memchr(name.data, '(', name.len);
    if (bracket && bracket > name.data)
        name.len = (size_t)(bracket - name.data);
    for (size_t i = name.len; i > 1; i--)
        if (name.data[i - 1] == ':' && name.data[i - 2] == ':')
            return (ProtobufCBinaryData){.len = name.len - i, .data = name.data + i};
    return name;
}

#define NEAR_LENGTH_MAX 128u

/* Letters to be put in, left out or changed to get from one name to the other (Levenshtein); more than `most` if there
 * are too many. */
static size_t distance(ProtobufCBinaryData a, ProtobufCBinaryData b, size_t most) {
    size_t row[NEAR_LENGTH_MAX + 1];
    if (a.len > NEAR_LENGTH_MAX || b.len > NEAR_LENGTH_MAX || (a.len > b.len ? a.len - b.len : b.len - a.len) > most)
        return most + 1;
    for (size_t k = 0; k <= b.len; k++)
        row[k] = k;
    for (size_t i = 0; i < a.len; i++) {
        size_t diagonal = row[0];
        row[0] = i + 1;
        for (size_t k = 0; k < b.len; k++) {
            size_t changed = diagonal + (a.data[i] != b.data[k]);
            size_t least = row[k] < row[k + 1] ? row[k] : row[k + 1];
            diagonal = row[k + 1];
            row[k + 1] = changed < least + 1 ? changed : least + 1;
        }
    }
    return row[b.len];
}

static bool is_same(ProtobufCBinaryData a, ProtobufCBinaryData b) {
    return a.len == b.len && memcmp(a.data, b.data, a.len) == 0;
}

size_t function_near(const ProfProfile *profile, const char *wanted, size_t len,
                     ProtobufCBinaryData near[FUNCTION_NEAR_MAX]) {
    ProtobufCBinaryData asked = {.len = len, .data = (uint8_t *)(uintptr_t)wanted};
    ProtobufCBinaryData last = last_part(asked);
    size_t off[FUNCTION_NEAR_MAX], count = 0, most = last.len < 3 ? 1 : last.len / 3;
    most = most > 3 ? 3 : most;
    for (size_t i = 0; i < profile->n_function; i++) {
        ProtobufCBinaryData name = profile_text(profile, profile->function[i]->name);
        size_t away = name.len > 0 ? distance(last_part(name), last, most) : most + 1;
        bool told = away > most;
        for (size_t k = 0; k < count && !told; k++)
            told = is_same(near[k], name);
        if (told)
            continue;
        /* The nearest first. */
        size_t at = count < FUNCTION_NEAR_MAX ? count++ : FUNCTION_NEAR_MAX;
        for (; at > 0 && off[at - 1] > away; at--) {
            if (at < FUNCTION_NEAR_MAX) {
                near[at] = near[at - 1];
                off[at] = off[at - 1];
            }
        }
        if (at < FUNCTION_NEAR_MAX) {
            near[at] = name;
            off[at] = away;
        }
    }
    return count;
}
