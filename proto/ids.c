/* SPDX-License-Identifier: Apache-2.0 */
#include "proto/ids.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

struct id {
    uint64_t id;
    size_t number;
};

uint64_t *ids_mapping(const ProfProfile *profile, size_t i) {
    return &profile->mapping[i]->id;
}

uint64_t *ids_location(const ProfProfile *profile, size_t i) {
    return &profile->location[i]->id;
}

uint64_t *ids_function(const ProfProfile *profile, size_t i) {
    return &profile->function[i]->id;
}

static int compare(const void *left, const void *right) {
    const struct id *a = left, *b = right;
    if (a->id != b->id)
        return a->id < b->id ? -1 : 1;
    return a->number < b->number ? -1 : a->number > b->number;
}

int ids_init(struct ids *ids, const ProfProfile *profile, size_t count, ids_id *id) {
    bool dense = true;
    *ids = (struct ids){.count = count};
    for (size_t i = 0; i < count && dense; i++)
        dense = *id(profile, i) == i + 1;
    if (dense)
        return 0;
    ids->sorted = malloc(count * sizeof *ids->sorted);
    if (!ids->sorted)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++)
        ids->sorted[i] = (struct id){.id = *id(profile, i), .number = i + 1};
    qsort(ids->sorted, count, sizeof *ids->sorted, compare);
    return 0;
}

size_t ids_find(const struct ids *ids, uint64_t id) {
    size_t low = 0, high = ids->count;
    if (id == 0)
        return 0;
    if (!ids->sorted)
        return id <= ids->count ? (size_t)id : 0;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (ids->sorted[middle].id < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low < ids->count && ids->sorted[low].id == id ? ids->sorted[low].number : 0;
}

void ids_release(struct ids *ids) {
    free(ids->sorted);
    *ids = (struct ids){0};
}
