/* SPDX-License-Identifier: Apache-2.0 */
/* A set of integers as Go's map[int]bool keeps one (up to Go 1.23): chained buckets of eight.
 *
 * A bucket holds the top byte of eight hashes, eight keys of 8 bytes, eight values of a byte and a pointer to an
 * overflow bucket: 88 bytes. The table has 2^B buckets and doubles when an insertion finds more than 6.5 elements a
 * bucket. From B = 4 on it comes with one spare bucket for every 16, and with those that rounding up to a size class
 * gains; they serve as overflow buckets, and when they have run out an overflow bucket is an allocation of its own,
 * rounded up to 96 bytes. As the buckets hold no pointers that Go's collector would follow, the map also keeps a
 * list of its overflow buckets, a slice. A map is made without a hint of its size, so it passes through every size
 * from B = 0.
 *
 * Ten thousand elements take 426 thousand bytes here and 428 thousand in Go 1.19.8. Two departures account for the
 * rest: Go moves elements to a new table little by little, here all are moved at once, and the hash is another.
 */
#ifndef CPROF_WORKLOADS_GO_MAP_H
#define CPROF_WORKLOADS_GO_MAP_H

#include "workloads/go_slice.h"
#include "workloads/workload.h"

#define GO_BUCKET_SLOTS 8

struct go_bucket {
    uint8_t top[GO_BUCKET_SLOTS]; /* 0: the slot is free, and so are those behind it */
    int64_t keys[GO_BUCKET_SLOTS];
    bool values[GO_BUCKET_SLOTS];
    struct go_bucket *overflow;
};
_Static_assert(sizeof(struct go_bucket) == 88, "as in Go");

typedef GO_SLICE(struct go_bucket *) go_bucket_list;

struct go_map_extra {
    go_bucket_list *overflow;     /* every overflow bucket of the table */
    go_bucket_list *old_overflow; /* of the table that is being moved */
    struct go_bucket *spare;      /* the next spare bucket, NULL when there are none left */
};

struct go_map {
    uint64_t count;
    struct go_bucket *buckets; /* 2^bits, and behind them the spare ones; NULL before the first insertion */
    struct go_bucket *limit;   /* behind the last of them */
    struct go_map_extra *extra;
    uint32_t bits;
}; /* 40 bytes, for which Go's allocator takes 48; its own hmap has 48 */

static struct truth go_map_truth = {.function = "go_map_make"};
static struct truth go_extra_truth = {.function = "go_map_make_extra"};
static struct truth go_buckets_truth = {.function = "go_map_make_buckets"};
static struct truth go_overflow_truth = {.function = "go_map_new_overflow"};
static struct truth go_list_truth = {.function = "go_map_list_overflow"};

ALLOCATES static struct go_map *go_map_make(void) {
    size_t bytes = go_round_up(sizeof(struct go_map));
    struct go_map *map = calloc(1, bytes);

    truth_add(&go_map_truth, map, bytes);
    return map;
}

/* Made when there is something to keep in it. */
ALLOCATES static void go_map_make_extra(struct go_map *map) {
    map->extra = calloc(1, sizeof *map->extra);
    truth_add(&go_extra_truth, map->extra, sizeof *map->extra);
}

/* Gives the map an empty table of 2^bits buckets; what it had is the caller's. */
ALLOCATES static void go_map_make_buckets(struct go_map *map, uint32_t bits) {
    size_t base = (size_t)1 << bits, wanted = bits < 4 ? base : base + (base >> 4);
    size_t bytes = go_round_up(wanted * sizeof(struct go_bucket));

    map->bits = bits;
    map->buckets = calloc(1, bytes);
    truth_add(&go_buckets_truth, map->buckets, bytes);
    map->limit = map->buckets + bytes / sizeof(struct go_bucket);
    if (bits >= 4) {
        if (!map->extra)
            go_map_make_extra(map);
        map->extra->spare = map->buckets + base;
    }
}

ALLOCATES static void go_map_list_overflow(struct go_map *map, struct go_bucket *bucket) {
    if (!map->extra)
        go_map_make_extra(map);
    if (!map->extra->overflow) {
        map->extra->overflow = calloc(1, sizeof *map->extra->overflow);
        truth_add(&go_list_truth, map->extra->overflow, sizeof *map->extra->overflow);
    }
    GO_APPEND(*map->extra->overflow, &bucket, 1, &go_list_truth);
}

ALLOCATES static struct go_bucket *go_map_new_overflow(struct go_map *map) {
    size_t bytes = go_round_up(sizeof(struct go_bucket));
    struct go_bucket *bucket;

    if (map->extra && map->extra->spare) {
        bucket = map->extra->spare++;
        if (map->extra->spare == map->limit)
            map->extra->spare = NULL;
    } else {
        bucket = calloc(1, bytes);
        truth_add(&go_overflow_truth, bucket, bytes);
    }
    go_map_list_overflow(map, bucket);
    return bucket;
}

/* Frees a table that ends at `limit`, with its overflow buckets and the list of them (NULL: none). */
static void go_map_free_table(struct go_bucket *buckets, const struct go_bucket *limit, go_bucket_list *overflow) {
    uintptr_t first = (uintptr_t)buckets, size = (uintptr_t)limit - first;

    for (size_t i = 0; overflow && i < overflow->length; i++)
        if ((uintptr_t)overflow->data[i] - first >= size) /* not a spare one */
            free(overflow->data[i]);
    if (overflow)
        free(overflow->data);
    free(overflow);
    free(buckets);
}

/* Inserts a key that isn't there, whether or not the table should grow. */
static void go_map_insert(struct go_map *map, int64_t key) {
    uint64_t state = (uint64_t)key, hash = workload_random(&state);
    struct go_bucket *bucket = &map->buckets[hash & (((uint64_t)1 << map->bits) - 1)];
    size_t slot = 0;

    while (bucket->top[slot]) {
        if (++slot == GO_BUCKET_SLOTS) {
            if (!bucket->overflow)
                bucket->overflow = go_map_new_overflow(map);
            bucket = bucket->overflow;
            slot = 0;
        }
    }
    bucket->top[slot] = (uint8_t)(hash >> 56) | 1;
    bucket->keys[slot] = key;
    bucket->values[slot] = true;
}

static bool go_map_has(const struct go_map *map, int64_t key) {
    uint64_t state = (uint64_t)key, hash = workload_random(&state);

    uint8_t top = (uint8_t)(hash >> 56) | 1;

    if (!map->buckets)
        return false;
    for (const struct go_bucket *b = &map->buckets[hash & (((uint64_t)1 << map->bits) - 1)]; b; b = b->overflow)
        for (size_t slot = 0; slot < GO_BUCKET_SLOTS && b->top[slot]; slot++)
            if (b->top[slot] == top && b->keys[slot] == key)
                return b->values[slot];
    return false;
}

static void go_map_grow(struct go_map *map) {
    struct go_map old = *map;

    if (map->extra) {
        map->extra->old_overflow = map->extra->overflow;
        map->extra->overflow = NULL;
        map->extra->spare = NULL;
    }
    go_map_make_buckets(map, old.bits + 1);
    for (size_t i = 0; i < (size_t)1 << old.bits; i++)
        for (const struct go_bucket *b = &old.buckets[i]; b; b = b->overflow)
            for (size_t slot = 0; slot < GO_BUCKET_SLOTS && b->top[slot]; slot++)
                go_map_insert(map, b->keys[slot]);
    go_map_free_table(old.buckets, old.limit, map->extra ? map->extra->old_overflow : NULL);
    if (map->extra)
        map->extra->old_overflow = NULL;
}

/* Adds a key; returns whether it was new. */
static bool go_map_add(struct go_map *map, int64_t key) {
    if (go_map_has(map, key))
        return false;
    if (!map->buckets)
        go_map_make_buckets(map, 0);
    else if (map->count >= GO_BUCKET_SLOTS && 2 * (map->count + 1) > 13 * ((uint64_t)1 << map->bits))
        go_map_grow(map);
    go_map_insert(map, key);
    map->count++;
    return true;
}

static void go_map_free(struct go_map *map) {
    go_map_free_table(map->buckets, map->limit, map->extra ? map->extra->overflow : NULL);
    free(map->extra);
    free(map);
}

#endif
