/* SPDX-License-Identifier: Apache-2.0 */
#include "preload/record/shadow.h"

#include <sys/mman.h>

#include "preload/record/memory.h"
#include "preload/record/sys.h"

#define DIRECTORY_SHIFT 31
#define PAGE_SHIFT 12
#define TABLE_ENTRIES (1u << (DIRECTORY_SHIFT - PAGE_SHIFT))
#define ADDRESS_BITS 47

/* One for each 2 GiB of address space that a recorded block was in. */
struct table {
    uint32_t *page[TABLE_ENTRIES]; /* the page's granules */
    uint8_t touched[TABLE_ENTRIES * sizeof(uint32_t *) / MEMORY_PAGE]; /* pages of this table that were charged */
};

/* Granules are made in chunks, so that a page's 512 bytes cost neither a system call nor a mapping. */
#define CHUNK (1ul << 18)

uint8_t shadow_filter[1u << SHADOW_FILTER_BITS] __attribute__((aligned(4096)));

static struct table *directory[1u << (ADDRESS_BITS - DIRECTORY_SHIFT)];
static unsigned granule_shift = 3;
static int record_all;

/* The chunk in use: address of its next free byte; the chunk's end is the next multiple of its size. */
static uintptr_t chunk_at;

void shadow_init(unsigned granule, int all) {
    granule_shift = (unsigned)__builtin_ctz(granule);
    record_all = all;
    if (all)
        for (size_t i = 0; i < sizeof shadow_filter; i++)
            shadow_filter[i] = 255;
}

static size_t page_bytes(void) {
    return (MEMORY_PAGE >> granule_shift) * sizeof(uint32_t);
}

/* A zeroed piece of the current chunk. */
static uint32_t *new_page(void) {
    size_t bytes = page_bytes();
    uintptr_t at = load_relaxed(&chunk_at);
    for (;;) {
        if (at & (CHUNK - 1)) {
            if (!cas_acq_rel(&chunk_at, &at, at + bytes))
                continue;
            return (uint32_t *)at;
        }
        /* The last one is used up: get one that starts at a multiple of its size, out of twice as much. */
        char *fresh = memory_map(2 * CHUNK);
        if (!fresh)
            return NULL;
        uintptr_t aligned = ((uintptr_t)fresh + CHUNK - 1) & ~(CHUNK - 1);
        if (aligned > (uintptr_t)fresh)
            memory_unmap(fresh, aligned - (uintptr_t)fresh);
        memory_unmap((char *)aligned + CHUNK, (uintptr_t)fresh + CHUNK - aligned);
        if (cas_acq_rel(&chunk_at, &at, aligned + bytes)) {
            /* All of it is going to be used: one call in place of 64 faults. */
            if (record_all)
                sys_madvise((void *)aligned, CHUNK, MADV_POPULATE_WRITE);
            return (uint32_t *)aligned;
        }
        memory_unmap((char *)aligned, CHUNK); /* somebody else was faster */
    }
}

static struct table *table_at(uintptr_t address) {
    return load_acquire(&directory[address >> DIRECTORY_SHIFT]);
}

static uint32_t *entry_at(uintptr_t address) {
    if (unlikely(address >> ADDRESS_BITS))
        return NULL;
    struct table *t = table_at(address);
    uint32_t *page = t ? load_acquire(&t->page[address >> PAGE_SHIFT & (TABLE_ENTRIES - 1)]) : NULL;
    return page ? &page[(address & MEMORY_PAGE_MASK) >> granule_shift] : NULL;
}

static COLD uint32_t *make_entry(uintptr_t address) {
    if (address >> ADDRESS_BITS)
        return NULL;
    struct table **slot = &directory[address >> DIRECTORY_SHIFT], *t = load_acquire(slot);
    if (!t) {
        struct table *fresh = memory_map_sparse(sizeof *fresh);
        if (!fresh)
            return NULL;
        if (cas_acq_rel(slot, &t, fresh))
            t = fresh;
        else
            memory_unmap_sparse(fresh, sizeof *fresh);
    }
    size_t index = address >> PAGE_SHIFT & (TABLE_ENTRIES - 1);
    uint8_t *touched = &t->touched[index * sizeof t->page[0] / MEMORY_PAGE];
    if (!load_relaxed(touched)) {
        if (!memory_charge(MEMORY_PAGE))
            return NULL;
        store_relaxed(touched, 1);
    }
    uint32_t *page = load_acquire(&t->page[index]);
    if (!page) {
        uint32_t *fresh = new_page();
        if (!fresh)
            return NULL;
        if (cas_acq_rel(&t->page[index], &page, fresh))
            page = fresh; /* else: the piece is lost, which two threads can do to a page once */
    }
    return &page[(address & MEMORY_PAGE_MASK) >> granule_shift];
}

/* Only sampled blocks are counted in the filter; 255 sticks, so that a byte is never 0 too early. */
static void filter_add(uintptr_t address, int one) {
    uint8_t *f = shadow_filter_at(address), n = load_relaxed(f);
    while (n != 255 && !cas_acq_rel(f, &n, (uint8_t)(n + one)))
        ;
}

void shadow_prefetch(uintptr_t address) {
    const uint32_t *entry = entry_at(address);
    if (likely(entry != NULL))
        __builtin_prefetch(entry, 1);
}

int64_t shadow_put(uintptr_t address, uint32_t bucket) {
    uint32_t *entry = entry_at(address);
    if (unlikely(!entry) && !(entry = make_entry(address)))
        return -1;
    uint32_t before = load_relaxed(entry);
    store_relaxed(entry, bucket);
    if (!record_all && !before)
        filter_add(address, 1);
    return before;
}

uint32_t shadow_take(uintptr_t address) {
    uint32_t *entry = entry_at(address);
    uint32_t bucket = entry ? load_relaxed(entry) : 0;
    if (bucket) {
        store_relaxed(entry, 0u);
        if (!record_all)
            filter_add(address, -1);
    }
    return bucket;
}

static void each_of(const struct table *t, size_t from, size_t to, void (*fn)(uint32_t)) {
    for (size_t i = from; i < to; i++)
        for (size_t g = 0; t->page[i] && g < MEMORY_PAGE >> granule_shift; g++)
            if (t->page[i][g])
                fn(t->page[i][g]);
}

void shadow_each(void (*fn)(uint32_t bucket)) {
    const size_t some = MEMORY_PAGE / sizeof(uint32_t *);
    for (size_t d = 0; d < sizeof directory / sizeof *directory; d++) {
        const struct table *t = directory[d];
        for (size_t i = 0; t && i < TABLE_ENTRIES; i += some)
            if (t->touched[i / some])
                each_of(t, i, i + some, fn);
    }
}
