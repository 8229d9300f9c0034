/* SPDX-License-Identifier: Apache-2.0 */
#include "preload/record/index.h"

#include "preload/record/memory.h"

static struct index_table *make(size_t slots) {
    struct index_table *t = memory_map(sizeof *t + slots * sizeof t->slot[0]);
    if (t)
        t->mask = slots - 1;
    return t;
}

int index_clear(struct index *ix, size_t slots) {
    size_t n = 64;
    while (n < slots)
        n *= 2;
    struct index_table *t = make(n);
    store_release(&ix->table, t);
    return t != NULL;
}

int index_init(struct index *ix, uint64_t (*hash_of)(uint32_t), size_t slots) {
    ix->hash_of = hash_of;
    ix->growing = 0;
    return index_clear(ix, slots);
}

static size_t table_bytes(const struct index_table *t) {
    return sizeof *t + (t->mask + 1) * sizeof t->slot[0];
}

void index_discard(struct index *ix) {
    struct index_table *t = ix->table;
    ix->table = NULL;
    if (t)
        memory_unmap(t, table_bytes(t));
}

static void put(struct index_table *t, uint64_t hash, uint32_t entry) {
    for (uint64_t i = hash & t->mask, n = 0; n < INDEX_PROBES; n++, i = (i + 1) & t->mask) {
        uint32_t empty = 0;
        if (!load_relaxed(&t->slot[i]) && cas_acq_rel(&t->slot[i], &empty, entry)) {
            add_relaxed(&t->used, 1u);
            return;
        }
    }
}

static void grow(struct index *ix, struct index_table *old) {
    uint32_t idle = 0;
    if (!cas_acq_rel(&ix->growing, &idle, 1u))
        return;
    struct index_table *bigger = load_acquire(&ix->table) == old ? make((old->mask + 1) * 2) : NULL;
    if (bigger) {
        for (uint64_t i = 0; i <= old->mask; i++) {
            uint32_t entry = load_acquire(&old->slot[i]);
            if (entry)
                put(bigger, ix->hash_of(entry), entry);
        }
        /* The old one stays: somebody may be in it. If another one took its place meanwhile, what it held is to be forgotten. */
        struct index_table *expected = old;
        if (!cas_acq_rel(&ix->table, &expected, bigger))
            memory_unmap(bigger, table_bytes(bigger));
    }
    store_release(&ix->growing, 0u);
}

void index_insert(struct index *ix, uint64_t hash, uint32_t entry) {
    struct index_table *t = load_acquire(&ix->table);
    if (!t)
        return;
    put(t, hash, entry);
    if (load_relaxed(&t->used) * 2 > t->mask)
        grow(ix, t);
}
