/* SPDX-License-Identifier: Apache-2.0 */
/* How: a table from pc to location id and one from module to mapping id, both filled on demand. Most stacks share most
 * of their frames, so almost every question is answered by one load. */
#include "proto/places.h"

#include <errno.h>
#include <string.h>

enum { MAIN_MODULE = 1 };

static int64_t add_build_id(struct places *p, const struct segment_module *module) {
    static const char hex[] = "0123456789abcdef";
    unsigned char id[64];
    char text[2 * sizeof id];

    size_t len = segment_view_bytes(p->view, module->build_id, module->build_id_len, id, sizeof id);
    if (len == 0)
        return 0;
    for (size_t i = 0; i < len; i++) {
        text[2 * i] = hex[id[i] >> 4];
        text[2 * i + 1] = hex[id[i] & 15];
    }
    return batch_text(p->batch, text, 2 * len);
}

/* What to call a mapping without a path. The main binary must have a name; of others pprof looks for no file if theirs
 * begins with a bracket. */
static const char *name_for(const struct segment_view *view, uint32_t index, uint32_t flags) {
    if (index == MAIN_MODULE)
        return view->header.name[0] ? view->header.name : "unknown";
    return flags & SEGMENT_MODULE_VDSO ? "[vdso]" : flags & SEGMENT_MODULE_ANON ? "[anon]" : "[unknown]";
}

static int64_t add_mapping(struct places *p, uint32_t index, const struct segment_module *module) {
    size_t len = segment_view_text(p->view, module->path, module->path_len, p->text, sizeof p->text);
    const char *name = len > 0 ? p->text : name_for(p->view, index, module->flags);
    ProfMapping mapping;
    perftools__profiles__mapping__init(&mapping);
    mapping.memory_start = module->start;
    mapping.memory_limit = module->limit;
    mapping.file_offset = module->file_offset;
    /* One that is called "[", as a program is, must not be taken for one of those. */
    if (index == MAIN_MODULE && name[0] == '[') {
        char *whole = p->text;
        len = strnlen(name, sizeof p->text - 3);
        memmove(whole + 2, name, len);
        memcpy(whole, "./", 2);
        whole[len + 2] = '\0';
        name = whole;
    }
    mapping.filename = batch_text(p->batch, name, strlen(name));
    if (mapping.filename < 0)
        return mapping.filename;
    mapping.build_id = add_build_id(p, module);
    if (mapping.build_id < 0)
        return mapping.build_id;
    return batch_mapping(p->batch, &mapping);
}

/* A profile asked for before the library looked at the program still has a first mapping, with the name alone. */
int places_main_mapping(struct places *p) {
    struct segment_module module;
    bool known = segment_view_module(p->view, MAIN_MODULE, &module);
    if (!known)
        module = (struct segment_module){0};
    int64_t id = add_mapping(p, MAIN_MODULE, &module);
    if (id > 0 && known)
        p->mapping_of[MAIN_MODULE] = (uint32_t)id;
    return id < 0 ? (int)id : 0;
}

/* Id of the mapping that the address is in, 0 if it is in none. */
static int64_t mapping_for(struct places *p, const struct segment_pc *pc) {
    struct segment_module module;
    /* Another library may since have been mapped to the address: the module that the pc names is the one it ran in. */
    if (!segment_view_module(p->view, pc->module, &module) || pc->address < module.start || pc->address >= module.limit)
        return 0;
    if (p->mapping_of[pc->module] == 0) {
        int64_t id = add_mapping(p, pc->module, &module);
        if (id < 0)
            return id;
        p->mapping_of[pc->module] = (uint32_t)id;
    }
    return p->mapping_of[pc->module];
}

/* A reserved pc: a function that has a name and no address. */
static int64_t add_named_location(struct places *p, const char *name) {
    int64_t text = batch_text(p->batch, name, strlen(name));
    if (text < 0)
        return text;
    int64_t function = batch_function(p->batch, text);
    if (function < 0)
        return function;
    return batch_location(p->batch, 0, 0, (uint64_t)function);
}

static int64_t add_location(struct places *p, uint32_t index) {
    struct segment_pc pc;
    if (index == SEGMENT_PC_TRUNCATED)
        return add_named_location(p, SEGMENT_NAME_TRUNCATED);
    if (index == SEGMENT_PC_OVERFLOW)
        return add_named_location(p, SEGMENT_NAME_OVERFLOW);
    if (!segment_view_pc(p->view, index, &pc))
        return batch_location(p->batch, 0, 0, 0);
    int64_t mapping = mapping_for(p, &pc);
    if (mapping < 0)
        return mapping;
    return batch_location(p->batch, (uint64_t)mapping, pc.address, 0);
}

/* Id of a pc's location. `index` is a pc of the view, or a reserved one. */
int64_t places_location(struct places *p, uint32_t index) {
    if (p->location_of[index] == 0) {
        int64_t id = add_location(p, index);
        if (id < 0)
            return id;
        p->location_of[index] = (uint32_t)id;
    }
    return p->location_of[index];
}

static uint32_t *alloc_ids(const struct prof_memory *memory, size_t count) {
    uint32_t *ids = memory->alloc(memory->ctx, count * sizeof *ids);
    if (ids)
        memset(ids, 0, count * sizeof *ids);
    return ids;
}

int places_open(struct places *p, const struct segment_view *view, struct batch *batch,
                const struct prof_memory *memory) {
    p->view = view;
    p->batch = batch;
    p->memory = memory;
    /* The reserved entries have their places even if the segment is empty. */
    p->location_of = alloc_ids(memory, (size_t)view->used[SEGMENT_PCS] + SEGMENT_PC_FIRST);
    p->mapping_of = alloc_ids(memory, (size_t)view->used[SEGMENT_MODULES] + 2);
    if (p->location_of && p->mapping_of)
        return 0;
    places_close(p);
    return -ENOMEM;
}

void places_close(struct places *p) {
    if (p->mapping_of)
        p->memory->free(p->memory->ctx, p->mapping_of);
    if (p->location_of)
        p->memory->free(p->memory->ctx, p->location_of);
    p->mapping_of = p->location_of = NULL;
}
