/* SPDX-License-Identifier: Apache-2.0 */
/* Mappings and locations of a profile, written when they are first needed.
 *
 * Role:    the encoder's translation from the segment's modules and pcs to the profile's ids. Only what samples refer
 *          to is written, and the main binary's mapping.
 * Memory:  4 bytes for each pc and module of the view.
 */
#ifndef CPROF_PROTO_PLACES_H
#define CPROF_PROTO_PLACES_H

#include "proto/batch.h"
#include "proto/view.h"

struct places {
    const struct segment_view *view;
    struct batch *batch;
    const struct prof_memory *memory;
    uint32_t *location_of; /* id for each pc; 0: not written yet */
    uint32_t *mapping_of;  /* likewise for each module */
    char text[BATCH_TEXT_MAX];
};

/* 0 or -ENOMEM. What is passed must outlive the places. */
int places_open(struct places *places, const struct segment_view *view, struct batch *batch,
                const struct prof_memory *memory);

/* Writes mapping 1, before anything else is asked for. 0 or a negative errno. */
int places_main_mapping(struct places *places);

/* Id of the location of a pc: one below used[SEGMENT_PCS], or a reserved one. Or a negative errno. */
int64_t places_location(struct places *places, uint32_t pc);

/* Frees the memory. Also fine if all of *places is zero. */
void places_close(struct places *places);

#endif
