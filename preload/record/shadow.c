/* SPDX-License-Identifier: Apache-2.0 */
#include "preload/record/shadow.h"

#include <sys/mman.h>

#include "preload/record/memory.h"
#include "preload/record/sys.h"

/* Granules are made in chunks, so that a page's 512 bytes cost neither a system call nor a mapping. */
#define CHUNK (1ul << 18)

uint8_t shadow_filter[1u << SHADOW_FILTER_BITS] __attribute__((aligned(4096)));

struct shadow_table *shadow_directory[2u << (SHADOW_ADDRESS_BITS - SHADOW_DIRECTORY_SHIFT)];
unsigned shadow_granule_shift = 4;
uintptr_t shadow_middle = 8;
int shadow_all;

/* The chunk in use: address of its next free byte; the chunk's end is the next multiple of its size. */
static uintptr_t chunk_at;

void shadow_init(unsigned granule, int all) {
    shadow_granule_shift = granule == 32 ? 5 : 4;
    shadow_middle = granule == 8 ? 8 : 0;
    shadow_all = all;
    if (all)
        for (size_t i = 0; i < sizeof shadow_filter; i++)
            shadow_filter[i] = 255;
}

static size_t page_bytes(void) {
    return (MEMORY_PAGE >> shadow_granule_shift) * sizeof(uint32_t);
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
            if (shadow_all)
                sys_madvise((void *)aligned, CHUNK, MADV_POPULATE_WRITE);
            return (uint32_t *)aligned;
        }
        memory_unmap((char *)aligned, CHUNK); /* somebody else was faster */
    }
}

static COLD uint32_t *make_entry(uintptr_t address) {
    if (address >> SHADOW_ADDRESS_BITS)
        return NULL;
    struct shadow_table **slot = &shadow_directory[shadow_place(address) >> SHADOW_DIRECTORY_SHIFT], *t = load_acquire(slot);
    if (!t) {
        struct shadow_table *fresh = memory_map_readable(sizeof *fresh);
        if (!fresh || memory_open(fresh->open, MEMORY_PAGE) < 0)
            return NULL;
        if (cas_acq_rel(slot, &t, fresh))
            t = fresh;
        else
            memory_unmap_sparse(fresh, sizeof *fresh); /* and a page stays charged */
    }
    size_t index = address >> SHADOW_PAGE_SHIFT & (SHADOW_TABLE_ENTRIES - 1);
    size_t piece = index * sizeof t->page[0] / SHADOW_PIECE;
    if (!load_acquire(&t->open[piece])) {
        if (memory_open((char *)t->page + piece * SHADOW_PIECE, SHADOW_PIECE) < 0)
            return NULL;
        store_release(&t->open[piece], 1);
    }
    uint32_t *page = load_acquire(&t->page[index]);
    if (!page) {
        uint32_t *fresh = new_page();
        if (!fresh)
            return NULL;
        if (cas_acq_rel(&t->page[index], &page, fresh))
            page = fresh; /* else: the piece is lost, which two threads can do to a page once */
    }
    return &page[(address & MEMORY_PAGE_MASK) >> shadow_granule_shift];
}

/* Only sampled blocks are counted in the filter; 255 sticks, so that a byte is never 0 too early. */
static void filter_add(uintptr_t address, int one) {
    uint8_t *f = shadow_filter_at(address), n = load_relaxed(f);
    while (n != 255 && !cas_acq_rel(f, &n, (uint8_t)(n + one)))
        ;
}

int64_t shadow_put_slowly(uint32_t *entry, uintptr_t address, uint32_t bucket) {
    if (!entry && !(entry = make_entry(address)))
        return -1;
    uint32_t before = load_relaxed(entry);
    store_relaxed(entry, bucket);
    if (!shadow_all && !before)
        filter_add(address, 1);
    return before;
}

void shadow_taken(uintptr_t address) {
    filter_add(address, -1);
}

/* The piece that starts a chunk stands for the chunk. */
static void discard_chunks(const struct shadow_table *t, size_t from, size_t to) {
    for (size_t i = from; i < to; i++)
        if (t->page[i] && ((uintptr_t)t->page[i] & (CHUNK - 1)) == 0)
            memory_unmap(t->page[i], CHUNK);
}

void shadow_discard(void) {
    const size_t some = SHADOW_PIECE / sizeof(uint32_t *);
    for (size_t d = 0; d < sizeof shadow_directory / sizeof *shadow_directory; d++) {
        struct shadow_table *t = shadow_directory[d];
        if (!t)
            continue;
        store_release(&shadow_directory[d], NULL);
        for (size_t i = 0; i < SHADOW_TABLE_ENTRIES; i += some)
            if (t->open[i / some])
                discard_chunks(t, i, i + some);
        memory_unmap_sparse(t, sizeof *t);
    }
    chunk_at = 0;
}

static void each_of(const struct shadow_table *t, size_t from, size_t to, void (*fn)(uint32_t)) {
    for (size_t i = from; i < to; i++)
        for (size_t g = 0; t->page[i] && g < MEMORY_PAGE >> shadow_granule_shift; g++)
            if (t->page[i][g])
                fn(t->page[i][g]);
}

void shadow_each(void (*fn)(uint32_t bucket)) {
    const size_t some = SHADOW_PIECE / sizeof(uint32_t *);
    for (size_t d = 0; d < sizeof shadow_directory / sizeof *shadow_directory; d++) {
        const struct shadow_table *t = shadow_directory[d];
        for (size_t i = 0; t && i < SHADOW_TABLE_ENTRIES; i += some)
            if (t->open[i / some])
                each_of(t, i, i + some, fn);
    }
}
