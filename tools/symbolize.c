/* SPDX-License-Identifier: Apache-2.0 */
/* How: mapping by mapping, so that one file is open at a time; within one by address, so that each unit of its DWARF is
 * read once. */
#include "tools/symbolize.h"

#include "tools/symbolize_file.h"
#include "tools/symbolize_names.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>

struct symbolizer {
    ProfProfile *profile;
    const struct symbolize_options *options;
    struct symbolize_result *result;
    struct names names;
    struct demangled demangled;
};

/* How much a location's lines say. */
enum detail { DETAIL_NONE, DETAIL_PLACEHOLDER, DETAIL_NAME, DETAIL_LINE };

static bool out_of_time(struct symbolizer *s) {
    struct timespec now;
    if (s->options->deadline_ns == 0)
        return false;
    clock_gettime(CLOCK_MONOTONIC, &now);
    if ((uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec >= s->options->deadline_ns)
        s->result->out_of_time = true;
    return s->result->out_of_time;
}

static void note(struct symbolizer *s, const char *what, const char *path, const char *reason) {
    if (s->options->note)
        s->options->note(s->options->ctx, what, path, reason);
}

static enum detail detail_of(const ProfProfile *profile, const ProfLocation *location) {
    if (location->n_line == 0)
        return DETAIL_NONE;
    uint64_t id = location->line[location->n_line - 1]->function_id;
    if (id == 0 || id > profile->n_function)
        return DETAIL_NONE;
    const ProfFunction *function = profile->function[id - 1];
    ProtobufCBinaryData name = profile_text(profile, function->name);
    if (function->filename != 0)
        return DETAIL_LINE;
    return name.len == 0 ? DETAIL_NONE : name.data[0] == '[' ? DETAIL_PLACEHOLDER : DETAIL_NAME;
}

/* ---- Lines ---- */

static void free_lines(ProfLine **lines, size_t count) {
    for (size_t i = 0; i < count; i++)
        protobuf_c_message_free_unpacked(&lines[i]->base, NULL);
    free(lines);
}

static ProfLine **new_lines(size_t count) {
    ProfLine **lines = calloc(count, sizeof *lines);
    for (size_t i = 0; lines && i < count; i++) {
        lines[i] = malloc(sizeof *lines[i]);
        if (!lines[i]) {
            free_lines(lines, i);
            return NULL;
        }
        perftools__profiles__line__init(lines[i]);
    }
    return lines;
}

static void set_lines(struct symbolizer *s, ProfLocation *location, ProfLine **lines, size_t count) {
    free_lines(location->line, location->n_line);
    location->line = lines;
    location->n_line = count;
    s->result->changed = true;
}

/* ---- Names ---- */

/* Index of the name for people, of one that is at `system_name`. */
static int64_t add_demangled(struct symbolizer *s, const char *name, size_t len, int64_t system_name) {
    char mangled[DEMANGLE_NAME_MAX + 1];
    if (len > DEMANGLE_NAME_MAX)
        return system_name;
    memcpy(mangled, name, len);
    mangled[len] = '\0';
    const char *text = demangle(mangled, s->options->style, &s->demangled);
    return text == mangled ? system_name : names_text(&s->names, text, strlen(text));
}

/* The name in the source's words where those are more than the linker's; NULL otherwise. The parentheses of an
 * operator() are no parameters, of which DWARF's names have none. */
static const char *source_name(const struct symbol_frame *frame) {
    const char *name = frame->where.name;
    if (frame->where.whole)
        return frame->where.whole;
    return name && frame->name == name && strncmp(name, "operator()", 10) == 0 ? name : NULL;
}

static int64_t add_function(struct symbolizer *s, const struct symbol_frame *frame) {
    int64_t system_name = names_text(&s->names, frame->name, frame->name_len);
    if (system_name < 0)
        return system_name;
    int64_t name;
    const char *source = source_name(frame);
    if (source && s->options->style != DEMANGLE_NONE) {
        const char *text = demangle_shorten(source, s->options->style, &s->demangled);
        name = names_text(&s->names, text, strlen(text));
    } else {
        name = add_demangled(s, frame->name, frame->name_len, system_name);
    }
    int64_t filename = frame->where.file ? names_text(&s->names, frame->where.file, strlen(frame->where.file)) : 0;
    if (name < 0 || filename < 0)
        return -ENOMEM;
    return names_function(&s->names, name, system_name, filename, frame->where.start_line);
}

static bool is_mangled(ProtobufCBinaryData name) {
    return name.len > 2 && name.data[0] == '_' && (name.data[1] == 'Z' || name.data[1] == 'R');
}

/* Functions that were named by something else, and only as the linker knows them; and those that shall have another
 * style. */
static int demangle_functions(struct symbolizer *s) {
    for (size_t i = 0; i < s->profile->n_function; i++) {
        ProfFunction *function = s->profile->function[i];
        ProtobufCBinaryData name = profile_text(s->profile, function->system_name);
        bool named = function->name != function->system_name && function->name != 0;
        if (name.len == 0 || (named && !(s->options->restyle && is_mangled(name))))
            continue;
        int64_t demangled = add_demangled(s, (const char *)name.data, name.len, function->system_name);
        if (demangled < 0)
            return -ENOMEM;
        s->result->changed |= demangled != function->name;
        function->name = demangled;
    }
    /* They are found by their new names. */
    if (s->result->changed) {
        names_release(&s->names);
        return names_init(&s->names, s->profile);
    }
    return 0;
}

/* The only line of a location whose function has no name but what it is. */
static int set_placeholder(struct symbolizer *s, ProfLocation *location, const char *name) {
    if (detail_of(s->profile, location) != DETAIL_NONE)
        return 0;
    int64_t function = add_function(s, &(struct symbol_frame){.name = name, .name_len = strlen(name)});
    ProfLine **lines = function > 0 ? new_lines(1) : NULL;
    if (!lines)
        return -ENOMEM;
    lines[0]->function_id = (uint64_t)function;
    set_lines(s, location, lines, 1);
    return 0;
}

static int set_stripped(struct symbolizer *s, ProfLocation *location, struct symbol_file *file, const char *path) {
    char name[300];
    uint64_t offset;
    const char *base = strrchr(path, '/');
    if (!symbol_file_function_offset(file, location->address, &offset))
        return 0;
    snprintf(name, sizeof name, "[%.255s+0x%" PRIx64 "]", base ? base + 1 : path, offset);
    return set_placeholder(s, location, name);
}

static int set_frames(struct symbolizer *s, ProfLocation *location, struct symbol_frame *frames, size_t count) {
    ProfLine **lines = new_lines(count);
    if (!lines)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++) {
        int64_t function = add_function(s, &frames[i]);
        if (function < 0) {
            free_lines(lines, count);
            return -ENOMEM;
        }
        lines[i]->function_id = (uint64_t)function;
        lines[i]->line = frames[i].where.line;
        lines[i]->column = frames[i].where.column;
    }
    set_lines(s, location, lines, count);
    return 0;
}

/* ---- Mappings ---- */

static int symbolize_location(struct symbolizer *s, ProfLocation *location, struct symbol_file *file, const char *path,
                              ProfMapping *flags) {
    struct symbol_frame frames[DWARF_FRAMES_MAX];
    int count = symbol_file_find(file, location->address, frames);
    if (count < 0)
        return count;
    /* A line of code whose function has no name (seen where code was generated by a program) has the file's. */
    bool named = count > 0 && frames[count - 1].name_len > 0;
    if (!named)
        return set_stripped(s, location, file, path);
    bool lined = frames[count - 1].where.file != NULL;
    for (int i = 0; i < count; i++) {
        flags->has_functions |= symbol_file_has_dwarf(file);
        flags->has_filenames |= frames[i].where.file != NULL;
        flags->has_line_numbers |= frames[i].where.line > 0;
        flags->has_inline_frames |= lined;
        if (frames[i].name_len == 0) {
            frames[i].name = "[inlined]";
            frames[i].name_len = strlen(frames[i].name);
        }
    }
    if (detail_of(s->profile, location) >= (lined ? DETAIL_LINE : DETAIL_NAME))
        return 0;
    return set_frames(s, location, frames, (size_t)count);
}

static void set_flags(struct symbolizer *s, ProfMapping *mapping, const ProfMapping *found) {
    /* Without a single line the DWARF is not that of the code that was seen, but of a corner of the file. */
    if (!found->has_filenames)
        return;
    mapping->has_functions = found->has_functions;
    mapping->has_filenames = found->has_filenames;
    mapping->has_line_numbers = found->has_line_numbers;
    mapping->has_inline_frames = found->has_inline_frames;
    s->result->changed = true;
}

static char *text_copy(const ProfProfile *profile, int64_t index) {
    ProtobufCBinaryData text = profile_text(profile, index);
    return strndup((const char *)text.data, text.len);
}

static int symbolize_file(struct symbolizer *s, ProfMapping *mapping, const char *path, const char *build_id,
                          ProfLocation **locations, size_t count) {
    struct symbol_file *file;
    struct mapped mapped = {
        .path = path,
        .build_id = build_id,
        .start = mapping->memory_start,
        .file_offset = mapping->file_offset,
        .process = s->options->process,
        .taken_ns = s->profile->time_nanos > 0 ? s->profile->time_nanos + s->profile->duration_nanos : 0,
    };
    ProfMapping flags = {0};
    const char *reason;
    int rc = symbol_file_open(&file, &mapped, &reason);
    if (rc == -ENOMEM)
        return rc;
    if (rc != 0) {
        note(s, "names", path, reason);
        return path[0] == '[' ? 1 : 0;
    }
    for (size_t i = 0; rc == 0 && i < count; i++) {
        if (out_of_time(s))
            break;
        rc = symbolize_location(s, locations[i], file, path, &flags);
    }
    if (symbol_file_is_too_large(file))
        note(s, "lines", path, "its debug information is compressed, and more than 1 GiB without");
    size_t missing = symbol_file_units_missing(file);
    if (missing > 0) {
        char text[DWARF_MISSING_MAX];
        note(s, "inlined functions", path, dwarf_explain_missing(missing, path, text));
        flags.has_inline_frames = false;
    }
    if (rc == 0 && !s->result->out_of_time)
        set_flags(s, mapping, &flags);
    symbol_file_close(file);
    return rc;
}

/* What has no file is called by what it is. */
static int set_placeholders(struct symbolizer *s, ProfLocation **locations, size_t count, const char *name) {
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < count; i++)
        rc = set_placeholder(s, locations[i], name);
    return rc;
}

static int symbolize_mapping(struct symbolizer *s, ProfMapping *mapping, ProfLocation **locations, size_t count) {
    if (mapping->has_functions || mapping->has_filenames || mapping->has_line_numbers || out_of_time(s))
        return 0;
    char *path = text_copy(s->profile, mapping->filename);
    char *build_id = text_copy(s->profile, mapping->build_id);
    int rc = path && build_id ? 0 : -ENOMEM;
    if (rc == 0 && path[0] != '\0')
        rc = symbolize_file(s, mapping, path, build_id, locations, count);
    if (rc == 1)
        rc = set_placeholders(s, locations, count, strcmp(path, "[anon]") == 0 ? "[jit]" : path);
    free(path);
    free(build_id);
    return rc;
}

/* ---- The profile ---- */

static int by_mapping_and_address(const void *left, const void *right) {
    const ProfLocation *a = *(ProfLocation *const *)left, *b = *(ProfLocation *const *)right;
    if (a->mapping_id != b->mapping_id)
        return a->mapping_id < b->mapping_id ? -1 : 1;
    if (a->address != b->address)
        return a->address < b->address ? -1 : 1;
    return a->id < b->id ? -1 : a->id > b->id;
}

static int symbolize_group(struct symbolizer *s, ProfLocation **locations, size_t count) {
    if (locations[0]->mapping_id > 0)
        return symbolize_mapping(s, s->profile->mapping[locations[0]->mapping_id - 1], locations, count);
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < count; i++)
        rc = set_placeholder(s, locations[i], locations[i]->address != 0 ? "[jit]" : "[unknown]");
    return rc;
}

/* The locations of one mapping. */
struct group {
    ProfLocation **locations;
    size_t count;
    off_t size; /* of its file */
};

static off_t file_size(const ProfProfile *profile, uint64_t mapping_id) {
    struct stat status;
    if (mapping_id == 0)
        return 0;
    char *path = text_copy(profile, profile->mapping[mapping_id - 1]->filename);
    off_t size = path && stat(path, &status) == 0 ? status.st_size : 0;
    free(path);
    return size;
}

static int by_size(const void *left, const void *right) {
    const struct group *a = left, *b = right;
    if (a->size != b->size)
        return a->size < b->size ? -1 : 1;
    return a->locations < b->locations ? -1 : a->locations > b->locations;
}

/* The largest file last: if time runs out there, all the others are done. */
static int symbolize_groups(struct symbolizer *s, struct group *groups, size_t count) {
    int rc = 0;
    qsort(groups, count, sizeof *groups, by_size);
    for (size_t i = 0; rc == 0 && i < count; i++) {
        if (s->options->checkpoint)
            s->options->checkpoint(s->options->ctx, s->result, (uint64_t)groups[i].size);
        rc = symbolize_group(s, groups[i].locations, groups[i].count);
    }
    return rc;
}

int symbolize_profile(ProfProfile *profile, const struct symbolize_options *options, struct symbolize_result *result) {
    struct symbolizer s = {.profile = profile, .options = options, .result = result};
    size_t count = profile->n_location, group_count = 0;
    *result = (struct symbolize_result){0};
    ProfLocation **sorted = malloc((count + 1) * sizeof(ProfLocation *));
    struct group *groups = calloc(profile->n_mapping + 1, sizeof *groups);
    int rc = names_init(&s.names, profile);
    if (!sorted || !groups)
        rc = -ENOMEM;
    if (rc == 0)
        rc = demangle_functions(&s);
    if (rc == 0 && count > 0) {
        memcpy(sorted, profile->location, count * sizeof(ProfLocation *));
        qsort(sorted, count, sizeof(ProfLocation *), by_mapping_and_address);
    }
    for (size_t i = 0; rc == 0 && i < count; i++) {
        if (i == 0 || sorted[i]->mapping_id != sorted[i - 1]->mapping_id)
            groups[group_count++] = (struct group){sorted + i, 0, file_size(profile, sorted[i]->mapping_id)};
        groups[group_count - 1].count++;
    }
    if (rc == 0)
        rc = symbolize_groups(&s, groups, group_count);
    names_release(&s.names);
    free(groups);
    free(sorted);
    return rc;
}
