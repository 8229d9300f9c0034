/* SPDX-License-Identifier: Apache-2.0 */
/* The index: growth, entries with one hash, no memory, and threads that insert the same keys at once. */
#include <errno.h>
#include <sys/syscall.h>

#include "preload/record/index.h"
#include "preload/record/memory.h"
#include "tests/unit/record_helpers.h"
#include "tests/unit/tap.h"

#define MAX_ENTRIES (1u << 21)
static uint64_t keys[MAX_ENTRIES]; /* of each entry */
static uint32_t entries = 1;

static struct index *to_clear; /* as another thread would, while a table is copied */

static uint64_t hash_of(uint32_t entry) {
    if (to_clear) {
        index_clear(to_clear, 64);
        to_clear = NULL;
    }
    return index_hash(keys[entry], 0);
}
static int matches(uint32_t entry, uint64_t key, uint64_t unused) {
    (void)unused;
    return keys[entry] == key;
}
static uint32_t find(const struct index *ix, uint64_t key) {
    return index_find(ix, index_hash(key, 0), matches, key, 0);
}
static uint32_t add(struct index *ix, uint64_t key) {
    uint32_t entry = add_relaxed(&entries, 1u);
    keys[entry] = key;
    index_insert(ix, index_hash(key, 0), entry);
    return entry;
}

static void test_growth(void) {
    enum { N = 200000 };
    struct index ix;
    uint32_t first = entries;
    int all = 1, none = 1;
    is(index_init(&ix, hash_of, 1), 1, "a small table");
    is(find(&ix, 7), 0, "nothing is in it");
    for (uint64_t k = 0; k < N; k++) {
        none &= find(&ix, k << 20) == 0;
        all &= add(&ix, k << 20) == find(&ix, k << 20);
    }
    ok(none, "no key is found before it is inserted");
    ok(all, "each is found right after");
    for (uint64_t k = 0; k < N; k++)
        all &= find(&ix, k << 20) == first + k;
    ok(all, "%d keys are found after growing", N);
    ok(ix.table->used == N && ix.table->mask + 1 >= 2 * N, "the table is at most half full");
    ok(ix.table->mask + 1 <= 4 * N, "and not much larger than that");
    uint64_t last = index_hash((N - 1ull) << 20, 0);
    index_insert(&ix, last, first + 5);
    is(index_find(&ix, last, matches, (N - 1ull) << 20, 0), first + N - 1,
       "of two entries with one hash, the one that matches");
}

static uint64_t one_hash(uint32_t entry) {
    (void)entry;
    return 12345;
}

static void test_collisions(void) {
    struct index ix;
    index_init(&ix, one_hash, 1);
    uint32_t found = 0;
    for (uint64_t k = 1; k <= 1000; k++) {
        uint32_t entry = add_relaxed(&entries, 1u);
        keys[entry] = k;
        index_insert(&ix, 12345, entry);
    }
    for (uint64_t k = 1; k <= 1000; k++)
        found += index_find(&ix, 12345, matches, k, 0) != 0;
    is(found, INDEX_PROBES, "of a thousand entries with one hash, as many are kept as are looked at");
}

static void test_no_memory(void) {
    struct index ix;
    test_fail_syscall(SYS_mmap, ENOMEM, 0, TEST_ALWAYS);
    is(index_init(&ix, hash_of, 64), 0, "no memory for a table");
    add(&ix, 1);
    is(find(&ix, 1), 0, "then nothing is found");
    test_fail_syscall(0, 0, 0, 0);
    is(index_init(&ix, hash_of, 64), 1, "memory for the first table");
    test_fail_syscall(SYS_mmap, ENOMEM, 0, TEST_ALWAYS);
    for (uint64_t k = 1; k <= 1000; k++)
        add(&ix, k);
    test_fail_syscall(0, 0, 0, 0);
    int found = 0;
    for (uint64_t k = 1; k <= 1000; k++)
        found += find(&ix, k) != 0;
    is(found, 64, "and none to grow: it is filled and stays as it is");
    add(&ix, 5000);
    add(&ix, 5001);
    ok(find(&ix, 5001), "once there is memory again it grows");
    uint64_t own = memory_own();
    memory_limit = own;
    is(index_init(&ix, hash_of, 64), 0, "the limit of memory holds for it too");
    memory_limit = UINT64_MAX;
    is(memory_own(), own, "and nothing is charged for what was not given");
}

enum { THREADS = 8, KEYS = 20000 };
static struct index shared;
static uint32_t lost[THREADS];

/* As all users do: look, and make one if there is none. Every thread wants every key, in an order of its own. */
static void insert_all(unsigned number) {
    for (uint64_t i = 0; i < KEYS; i++) {
        uint64_t key = (number & 1 ? KEYS - 1 - i : i * 7 % KEYS) + 1;
        uint32_t entry = find(&shared, key);
        if (!entry)
            entry = add(&shared, key);
        lost[number] += keys[entry] != key;
    }
}

static void test_threads_insert(void) {
    for (int round = 0; round < 4; round++) {
        uint32_t before = entries;
        index_init(&shared, hash_of, 64);
        memset(lost, 0, sizeof lost);
        test_threads(THREADS, insert_all);
        uint32_t wrong = 0, missing = 0;
        for (int t = 0; t < THREADS; t++)
            wrong += lost[t];
        for (uint64_t key = 1; key <= KEYS; key++)
            missing += find(&shared, key) == 0;
        is(wrong, 0, "threads at once: who finds an entry finds that of its key");
        ok(missing < KEYS / 2, "all but %u of %d keys are found afterwards", missing, KEYS);
        uint32_t made = entries - before;
        ok(made >= KEYS && made < THREADS * KEYS, "%u entries were made for %d keys", made, KEYS);
        is(shared.growing, 0, "nobody is copying any more");
    }
}

static void clear_or_insert(unsigned number) {
    for (uint64_t i = 0; i < 20000; i++)
        if (number == 0 && i % 700 == 699)
            index_clear(&shared, 64);
        else
            add(&shared, 1000000 + number * 100000 + i);
}

/* What was inserted before must not come back, neither with a table that is being copied. */
static void test_clearing(void) {
    struct index ix;
    index_init(&ix, hash_of, 64);
    for (uint64_t k = 1; k <= 100; k++)
        add(&ix, k);
    index_clear(&ix, 64);
    ok(!find(&ix, 1) && !find(&ix, 100), "emptied");
    uint64_t own = memory_own();
    for (uint64_t k = 1; k <= 32; k++) {
        to_clear = k == 32 ? &ix : NULL;
        add(&ix, k);
    }
    ok(!to_clear && !find(&ix, 1) && !find(&ix, 31), "emptied while it was growing");
    is(memory_own(), own + MEMORY_PAGE, "the copy that came too late is given back");
    add(&ix, 5);
    ok(find(&ix, 5), "and it works on");
    index_init(&shared, hash_of, 64);
    test_threads(4, clear_or_insert);
    is(shared.growing, 0, "emptied while others insert");
}

int main(void) {
    test_growth();
    test_collisions();
    test_no_memory();
    test_threads_insert();
    test_clearing();
    return tap_done();
}
