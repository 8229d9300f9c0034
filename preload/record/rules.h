/* SPDX-License-Identifier: Apache-2.0 */
/* The addresses met on stacks: each with its module and its walking rule, learned once and kept in the segment's pcs.
 *
 * Called for every frame that is not part of the walk before. Lock-free; safe in signal handlers. */
#ifndef CPROF_RECORD_RULES_H
#define CPROF_RECORD_RULES_H

#include <stdint.h>

#include "preload/record/atomic.h"
#include "preload/record/cfi.h"
#include "preload/record/index.h"
#include "preload/record/segment.h"

/* 0, or no memory. */
int rules_init(void);

extern struct index rules_index HIDDEN;

static inline uint64_t rules_hash(uint64_t address) {
    return index_hash(address, 0);
}
static inline int rules_match(uint32_t entry, uint64_t address, uint64_t unused) {
    (void)unused;
    return segment.pcs[entry].address == address;
}

/* Enters the address; 0 if there is no room. */
uint32_t rules_learn(uint64_t address);

/* Index in the segment's pcs of an address that lies in the instruction a frame is at; 0 if there is no room for it. */
static inline uint32_t rules_find(uint64_t address) {
    uint32_t pc = index_find(&rules_index, rules_hash(address), rules_match, address, 0);
    return likely(pc) ? pc : rules_learn(address);
}

/* A library was unloaded: forget which addresses are known, so that all are looked at anew. What is in the segment stays.
 * Walks kept from before it must be thrown away: rules_generation() has changed. */
void rules_forget(void);

extern uint32_t rules_generation_now HIDDEN;
static inline uint32_t rules_generation(void) {
    return load_acquire(&rules_generation_now);
}

#endif
