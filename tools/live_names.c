/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/live_names.h"

#include "tools/symbolize.h"
#include "tools/symbolize_file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct live_file {
    struct symbol_file *file; /* NULL: nothing is known of it */
    bool tried;
};

void live_names_init(struct live_names *names, bool lookup) {
    memset(names, 0, sizeof *names);
    names->lookup = lookup;
}

void live_names_release(struct live_names *names) {
    for (size_t i = 0; i < names->function_count; i++)
        free((char *)(uintptr_t)names->functions[i].name);
    for (size_t i = 0; i < names->file_count; i++)
        symbol_file_close(names->files[i].file);
    if (names->has_drop)
        pattern_release(&names->drop);
    free(names->functions);
    free(names->slots);
    free(names->frames);
    free(names->of_pc);
    free(names->files);
    memset(names, 0, sizeof *names);
}

void live_names_set_drop(struct live_names *names, const char *expression) {
    const char *reason;
    names->has_drop =
        expression[0] != '\0' && pattern_init(&names->drop, expression, strlen(expression), true, &reason);
}

/* Makes room for one more than `count`; arrays double at powers of two. */
static bool grow(void *array, size_t count, size_t size) {
    void **at = array;
    if (count != 0 && (count < 16 || (count & (count - 1)) != 0))
        return true;
    void *more = realloc(*at, (count < 16 ? 16 : 2 * count) * size);
    if (more)
        *at = more;
    return more != NULL;
}

/* ---- Functions ---- */

static size_t hash(const char *name) {
    size_t h = 1469598103934665603u;
    for (; *name; name++)
        h = (h ^ (unsigned char)*name) * 1099511628211u;
    return h;
}

static bool rehash(struct live_names *names) {
    if (names->function_count * 2 < names->slot_count)
        return true;
    size_t count = names->slot_count ? names->slot_count * 2 : 256;
    uint32_t *slots = calloc(count, sizeof *slots);
    if (!slots)
        return false;
    for (size_t i = 0; i < names->function_count; i++) {
        size_t at = hash(names->functions[i].name);
        while (slots[at & (count - 1)])
            at++;
        slots[at & (count - 1)] = (uint32_t)i + 1;
    }
    free(names->slots);
    names->slots = slots;
    names->slot_count = count;
    return true;
}

/* As pprof looks at names: up to the parameters. */
static size_t simple_length(const char *name) {
    for (const char *at = name; (at = strchr(at, '(')); at++)
        if (strncmp(at, "(anonymous namespace)", 21) != 0 &&
            !(at - name >= 8 && strncmp(at - 8, "operator()", 10) == 0))
            return (size_t)(at - name);
    return strlen(name);
}

/* Index of the function of that name, or -ENOMEM. */
static int64_t intern(struct live_names *names, const char *name) {
    if (!rehash(names) || !grow(&names->functions, names->function_count, sizeof *names->functions))
        return -ENOMEM;
    size_t at = hash(name);
    for (; names->slots[at & (names->slot_count - 1)]; at++) {
        uint32_t found = names->slots[at & (names->slot_count - 1)] - 1;
        if (strcmp(names->functions[found].name, name) == 0)
            return found;
    }
    char *copy = strdup(name);
    if (!copy)
        return -ENOMEM;
    bool dropped = names->has_drop && pattern_matches(&names->drop, copy, simple_length(copy));
    /* What a terminal could take for an order. */
    for (char *c = copy; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 0x7f)
            *c = '?';
    if (strcmp(copy, name) != 0) {
        int64_t index = intern(names, copy);
        free(copy);
        return index;
    }
    names->functions[names->function_count] = (struct live_function){copy, dropped};
    names->slots[at & (names->slot_count - 1)] = (uint32_t)names->function_count + 1;
    return (int64_t)names->function_count++;
}

static int add_frame(struct live_names *names, const char *name) {
    int64_t function = intern(names, name);
    if (function < 0 || !grow(&names->frames, names->frame_count, sizeof *names->frames))
        return -ENOMEM;
    names->frames[names->frame_count++] = (uint32_t)function;
    return 0;
}

/* ---- Addresses ---- */

static struct symbol_file *file_of(struct live_names *names, const struct live_module *module, size_t index) {
    if (index >= names->file_count) {
        struct live_file *more = realloc(names->files, (index + 1) * sizeof *more);
        if (!more)
            return NULL;
        memset(more + names->file_count, 0, (index + 1 - names->file_count) * sizeof *more);
        names->files = more;
        names->file_count = index + 1;
    }
    struct live_file *file = &names->files[index];
    if (!file->tried && names->lookup) {
        struct timespec now;
        const char *reason;
        clock_gettime(CLOCK_REALTIME, &now);
        struct mapped mapped = {.path = module->path,
                                .build_id = module->build_id,
                                .start = module->start,
                                .file_offset = module->file_offset,
                                .process = names->process,
                                .taken_ns = now.tv_sec * INT64_C(1000000000) + now.tv_nsec};
        if (symbol_file_open(&file->file, &mapped, &reason) != 0)
            file->file = NULL;
    }
    file->tried = true;
    return file->file;
}

static int add_unnamed(struct live_names *names, const struct live_module *module, struct symbol_file *file,
                       uint64_t address) {
    char name[300];
    const char *base = strrchr(module->path, '/');
    uint64_t offset = address - module->start + module->file_offset;
    base = base ? base + 1 : module->path;
    if (module->path[0] == '\0' || strcmp(module->path, "[anon]") == 0)
        snprintf(name, sizeof name, "[jit]");
    else if (module->path[0] == '[')
        snprintf(name, sizeof name, "%.255s", module->path);
    else if (file && !symbol_file_function_offset(file, address, &offset))
        snprintf(name, sizeof name, "[%.255s]", base);
    else
        snprintf(name, sizeof name, "[%.255s+0x%" PRIx64 "]", base, offset);
    return add_frame(names, name);
}

static int add_named(struct live_names *names, const struct symbol_frame *frame) {
    static struct demangled demangled;
    char name[DEMANGLE_NAME_MAX + 1];
    if (frame->name_len == 0 || frame->name_len > DEMANGLE_NAME_MAX)
        return add_frame(names, frame->name_len == 0 ? "[inlined]" : "[name too long]");
    memcpy(name, frame->name, frame->name_len);
    name[frame->name_len] = '\0';
    return add_frame(names, demangle(name, DEMANGLE_SIMPLE, &demangled));
}

static int add_pc(struct live_names *names, uint32_t index, const struct live_pc *pc, const struct live_module *modules,
                  size_t module_count) {
    struct symbol_frame frames[DWARF_FRAMES_MAX];
    if (index == SEGMENT_PC_TRUNCATED)
        return add_frame(names, SEGMENT_NAME_TRUNCATED);
    if (index == SEGMENT_PC_OVERFLOW)
        return add_frame(names, SEGMENT_NAME_OVERFLOW);
    if (pc->module == 0 || pc->module >= module_count || !modules[pc->module].path)
        return add_frame(names, pc->address ? "[jit]" : "[unknown]");
    const struct live_module *module = &modules[pc->module];
    struct symbol_file *file = file_of(names, module, pc->module);
    int count = file ? symbol_file_find(file, pc->address, frames) : 0;
    if (count <= 0 || frames[count - 1].name_len == 0)
        return add_unnamed(names, module, file, pc->address);
    int rc = 0;
    for (int i = 0; rc == 0 && i < count; i++)
        rc = add_named(names, &frames[i]);
    return rc;
}

int live_names_reserve(struct live_names *names, size_t pc_count) {
    if (pc_count <= names->pc_count)
        return 0;
    struct live_span *more = realloc(names->of_pc, pc_count * sizeof *more);
    if (!more)
        return -ENOMEM;
    memset(more + names->pc_count, 0, (pc_count - names->pc_count) * sizeof *more);
    names->of_pc = more;
    names->pc_count = pc_count;
    return 0;
}

int live_names_add(struct live_names *names, uint32_t pc, const struct live_pc *what, const struct live_module *modules,
                   size_t module_count) {
    if (pc >= names->pc_count || names->of_pc[pc].count > 0)
        return 0;
    size_t first = names->frame_count;
    int rc = add_pc(names, pc, what, modules, module_count);
    if (rc == 0)
        names->of_pc[pc] = (struct live_span){(uint32_t)first, (uint32_t)(names->frame_count - first)};
    return rc;
}
