/* SPDX-License-Identifier: Apache-2.0 */
#include "preload/record/modules.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stddef.h>
#include <sys/auxv.h>

#include "preload/record/loader.h"
#include "preload/record/maps.h"
#include "preload/record/memory.h"
#include "preload/record/segment.h"
#include "preload/record/sys.h"
#include "preload/record/text.h"

static uintptr_t main_phdr;
static size_t main_phnum;
static const char *main_name;

/* What the loader said of a module when it was entered: enough to see whether it is still the same one, without looking at
 * anything that goes with it. Parallel to the segment's modules, which must not hold pointers. */
static struct {
    const void *link_map, *map_start, *map_end, *eh_frame;
} loaded[1 << 14];

static const ElfW(Phdr) *program_headers(const struct object *o, size_t *n) {
    const ElfW(Ehdr) *e = (const void *)o->start;
    if (main_phdr >= o->start && main_phdr < o->limit) {
        *n = main_phnum;
        return (const void *)main_phdr;
    }
    if (e->e_ident[0] != ELFMAG0 || e->e_ident[1] != ELFMAG1 || e->e_ident[2] != ELFMAG2 || e->e_ident[3] != ELFMAG3 ||
        e->e_phentsize != sizeof(ElfW(Phdr)) || o->start + e->e_phoff + e->e_phnum * sizeof(ElfW(Phdr)) > o->limit) {
        *n = 0;
        return NULL;
    }
    *n = e->e_phnum;
    return (const void *)(o->start + e->e_phoff);
}

/* Without _dl_find_object: the mappings, and the ELF header at the start of the file's first one. */
static int object_from_maps(uintptr_t address, struct object *o) {
    static struct maps_buffer buffer; /* one is enough: a mix-up of two threads gives a wrong name at worst */
    struct maps_entry at;
    if (!maps_find(address, &at, &buffer) || !buffer.path[0])
        return 0;
    *o = (struct object){.start = at.file_start, .limit = at.file_limit, .path = buffer.path};
    size_t n;
    const ElfW(Phdr) *ph = program_headers(o, &n);
    uintptr_t first = UINTPTR_MAX;
    for (size_t i = 0; i < n; i++)
        if (ph[i].p_type == PT_LOAD && ph[i].p_vaddr < first)
            first = ph[i].p_vaddr;
    o->bias = o->start - (first & ~(uintptr_t)4095);
    for (size_t i = 0; i < n; i++)
        if (ph[i].p_type == PT_GNU_EH_FRAME)
            o->eh_frame_hdr = (const uint8_t *)(o->bias + ph[i].p_vaddr);
    return 1;
}

/* An object with gaps between its segments is known to the loader one segment at a time: makes *o all of it. Its headers are in
 * another piece then. */
static void make_whole(struct object *o) {
    uintptr_t headers = o->path[0] ? o->bias : main_phdr, start = UINTPTR_MAX, limit = 0;
    struct loader_object f;
    if ((headers >= o->start && headers < o->limit) || loader_find((void *)headers, &f) != 0 ||
        f.link_map->l_addr != o->bias || f.link_map->l_name != o->path)
        return;
    struct object piece = {.start = (uintptr_t)f.map_start, .limit = (uintptr_t)f.map_end};
    size_t n;
    const ElfW(Phdr) *ph = program_headers(&piece, &n);
    for (size_t i = 0; i < n; i++) {
        uintptr_t from = (o->bias + ph[i].p_vaddr) & ~MEMORY_PAGE_MASK, to = o->bias + ph[i].p_vaddr + ph[i].p_memsz;
        if (ph[i].p_type == PT_LOAD && from < start)
            start = from;
        if (ph[i].p_type == PT_LOAD && to > limit)
            limit = to;
    }
    if (start <= o->start && limit >= o->limit) {
        o->start = start;
        o->limit = limit;
    }
}

int modules_object_at(uintptr_t address, struct object *o) {
    struct loader_object f;
    if (!loader_find)
        return object_from_maps(address, o);
    if (loader_find((void *)address, &f) != 0)
        return 0;
    *o = (struct object){.start = (uintptr_t)f.map_start,
                         .limit = (uintptr_t)f.map_end,
                         .bias = f.link_map->l_addr,
                         .eh_frame_hdr = f.eh_frame,
                         .path = f.link_map->l_name};
    make_whole(o);
    return 1;
}

/* The GNU build id among the notes of a segment that is in memory. */
static const uint8_t *build_id(const struct object *o, const ElfW(Phdr) *ph, size_t n, size_t *len) {
    for (size_t i = 0; i < n; i++) {
        if (ph[i].p_type != PT_NOTE)
            continue;
        uintptr_t at = o->bias + ph[i].p_vaddr, end = at + ph[i].p_memsz;
        if (at < o->start || end > o->limit || end < at)
            continue;
        while (end - at >= sizeof(ElfW(Nhdr))) {
            const ElfW(Nhdr) *note = (const void *)at;
            uintptr_t desc = at + sizeof *note + ((note->n_namesz + 3ul) & ~3ul);
            uintptr_t next = desc + ((note->n_descsz + 3ul) & ~3ul);
            if (next > end || next <= at)
                break;
            if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4 && text_equal((const char *)(note + 1), "GNU")) {
                *len = note->n_descsz;
                return (const uint8_t *)desc;
            }
            at = next;
        }
    }
    return NULL;
}

static uint32_t store_path(const struct object *o, uintptr_t address, uint32_t *len) {
    const char *name = o->path;
    struct maps_buffer *buffer = NULL;
    struct maps_entry at;
    /* The loader has no name for the main executable, and the name it was given for others, which may be relative to a
     * directory that the program has left, or to its descriptors. The kernel knows better. */
    int unclear = name[0] != '/' || text_starts(name, "/proc/") || text_starts(name, "/dev/fd/");
    if (!name[0])
        name = main_name;
    else if (unclear && !text_starts(name, "linux-vdso") && (buffer = memory_map(sizeof *buffer)) &&
             maps_find(address, &at, buffer) && buffer->path[0])
        name = buffer->path;
    char absolute[1024];
    struct text whole;
    if (name[0] && name[0] != '/' && name == main_name && sys2(SYS_getcwd, absolute, sizeof absolute) > 0) {
        text_init(&whole, absolute, sizeof absolute);
        whole.len = text_length(absolute);
        text_add(&whole, "/");
        text_add(&whole, name);
        name = absolute;
    }
    *len = (uint32_t)text_length(name);
    uint32_t stored = segment_store_string(name, *len);
    if (buffer)
        memory_unmap(buffer, sizeof *buffer);
    return stored;
}

static void remember(uint32_t index, uintptr_t address) {
    struct loader_object f;
    if (!loader_find || loader_find((void *)address, &f) != 0)
        return;
    loaded[index].link_map = f.link_map;
    loaded[index].map_start = f.map_start;
    loaded[index].map_end = f.map_end;
    loaded[index].eh_frame = f.eh_frame;
}

/* Another thread may be closing libraries at this moment, so nothing of theirs is looked at, not even the loader's record. */
static int is_loaded(uint32_t index) {
    const struct segment_module *m = &segment.modules[index];
    struct loader_object f;
    struct object o;
    if (!loader_find)
        return object_from_maps(m->start, &o) && o.bias == m->bias && o.limit >= m->limit;
    return loader_find((void *)m->start, &f) == 0 && f.link_map == loaded[index].link_map &&
           f.map_start == loaded[index].map_start && f.map_end == loaded[index].map_end &&
           f.eh_frame == loaded[index].eh_frame;
}

static void close_module(uint32_t index) {
    struct segment_module *m = &segment.modules[index];
    store_relaxed(&m->flags, m->flags | SEGMENT_MODULE_CLOSED);
}

static int same_bytes(uint32_t stored, uint32_t stored_len, const void *bytes, size_t len) {
    if (!stored || stored_len != len)
        return 0;
    for (size_t i = 0; i < len; i++)
        if (segment.strings[stored + i] != ((const char *)bytes)[i])
            return 0;
    return 1;
}

/* A library that was closed and is back at the same place, as plugins are that are loaded again and again: its module goes on.
 * Without a build id it might be another one by the same name. */
static uint32_t reopen(const struct object *o, uintptr_t address, const uint8_t *id, size_t id_len) {
    for (uint64_t i = load_acquire(&segment.header->region[SEGMENT_MODULES].used); id && i-- > 1;) {
        struct segment_module *m = &segment.modules[i];
        if (!load_acquire(&m->ready) || !(load_relaxed(&m->flags) & SEGMENT_MODULE_CLOSED) || address < m->start ||
            address >= m->limit || m->bias != o->bias || !same_bytes(m->build_id, m->build_id_len, id, id_len) ||
            (o->path[0] == '/' && !same_bytes(m->path, m->path_len, o->path, text_length(o->path))))
            continue;
        remember((uint32_t)i, m->start);
        store_release(&m->flags, m->flags & ~SEGMENT_MODULE_CLOSED);
        return (uint32_t)i;
    }
    return 0;
}

static uint32_t enter(uintptr_t address, const struct object *o) {
    size_t n, id_len = 0;
    const ElfW(Phdr) *ph = program_headers(o, &n);
    const uint8_t *id = build_id(o, ph, n, &id_len);
    uint32_t index = reopen(o, address, id, id_len);
    if (index)
        return index;
    index = segment_take(SEGMENT_MODULES, 1);
    if (!index || index >= sizeof loaded / sizeof *loaded)
        return 0;
    struct segment_module *m = &segment.modules[index];
    m->start = o->start;
    m->limit = o->limit;
    m->bias = o->bias;
    for (size_t i = 0; i < n; i++) {
        uintptr_t from = (o->bias + ph[i].p_vaddr) & ~(MEMORY_PAGE_MASK), to = o->bias + ph[i].p_vaddr + ph[i].p_memsz;
        if (ph[i].p_type == PT_LOAD && (ph[i].p_flags & PF_X) && address >= from && address < to) {
            m->start = from;
            m->limit = (to + MEMORY_PAGE_MASK) & ~(MEMORY_PAGE_MASK);
            m->file_offset = ph[i].p_offset & ~(MEMORY_PAGE_MASK);
        }
    }
    m->path = store_path(o, address, &m->path_len);
    m->build_id = id ? segment_store_string((const char *)id, id_len) : 0;
    m->build_id_len = m->build_id ? (uint32_t)id_len : 0;
    m->flags = text_starts(o->path, "linux-vdso") ? SEGMENT_MODULE_VDSO : 0;
    remember(index, m->start);
    store_release(&m->ready, 1u);
    return index;
}

/* The open module that has the address in its code; 0 if there is none. */
static uint32_t find_open(uintptr_t address) {
    uint64_t n = load_acquire(&segment.header->region[SEGMENT_MODULES].used);
    for (uint64_t i = n; i-- > 1;) {
        const struct segment_module *m = &segment.modules[i];
        if (load_acquire(&m->ready) && !(load_relaxed(&m->flags) & SEGMENT_MODULE_CLOSED) && address >= m->start &&
            address < m->limit)
            return (uint32_t)i;
    }
    return 0;
}

uint32_t modules_at(uintptr_t address, const struct object *o) {
    uint32_t index = find_open(address);
    return index ? index : enter(address, o);
}

/* The loader's records may be at the same place as well, and modules of a family (gconv's) are all of one size. */
static int is_of(uint32_t index, const struct object *o) {
    const struct segment_module *m = &segment.modules[index];
    size_t n, id_len = 0;
    const ElfW(Phdr) *ph = program_headers(o, &n);
    const uint8_t *id = m->build_id ? build_id(o, ph, n, &id_len) : NULL;
    return id ? m->bias == o->bias && same_bytes(m->build_id, m->build_id_len, id, id_len) : is_loaded(index);
}

int modules_drop_replaced(uintptr_t address, const struct object *o) {
    uint32_t index = loader_find ? find_open(address) : 0;
    if (index < 2 || is_of(index, o))
        return 0;
    close_module(index);
    modules_drop_unloaded();
    return 1;
}

int modules_drop_unloaded(void) {
    uint64_t n = load_acquire(&segment.header->region[SEGMENT_MODULES].used);
    int any = 0;
    for (uint64_t i = 2; i < n; i++) { /* the main executable stays */
        struct segment_module *m = &segment.modules[i];
        if (!load_acquire(&m->ready) || (load_relaxed(&m->flags) & SEGMENT_MODULE_CLOSED) || is_loaded((uint32_t)i))
            continue;
        close_module((uint32_t)i);
        any = 1;
    }
    return any;
}

void modules_init(uintptr_t phdr, const char *name) {
    struct object o;
    loader_init();
    main_phdr = phdr;
    main_phnum = getauxval(AT_PHNUM);
    main_name = name;
    if (!modules_object_at(phdr, &o))
        return;
    /* The executable code of the main program: any address in its executable segment will do. */
    size_t n;
    const ElfW(Phdr) *ph = program_headers(&o, &n);
    for (size_t i = 0; i < n; i++)
        if (ph[i].p_type == PT_LOAD && (ph[i].p_flags & PF_X)) {
            enter(o.bias + ph[i].p_vaddr, &o);
            return;
        }
}
