/* SPDX-License-Identifier: Apache-2.0 */
/* The addresses met on stacks: each with its module and its walking rule, learned once and kept in the segment's pcs.
 *
 * Called for every frame that is not part of the walk before. Lock-free; safe in signal handlers. */
#ifndef CPROF_RECORD_RULES_H
#define CPROF_RECORD_RULES_H

#include <stdint.h>

#include "preload/record/atomic.h"
#include "preload/record/cfi.h"
#include "preload/record/segment.h"

/* 0, or no memory. */
int rules_init(void);

/* In front of the index: the entries looked for last, by a hash that costs one multiplication. Any thread writes to it; a slot
 * may hold any entry, or 0 (whose address is none). */
#define RULES_RECENT_BITS 12
extern uint32_t rules_recent[1u << RULES_RECENT_BITS] HIDDEN;
static inline uint32_t *rules_recent_at(uint64_t address) {
    return &rules_recent[address * 0x9e3779b97f4a7c15ull >> (64 - RULES_RECENT_BITS)];
}

/* Finds the address in the index, or enters it; 0 if there is no room. */
uint32_t rules_look_up(uint64_t address);

/* Index in the segment's pcs of an address that lies in the instruction a frame is at; 0 if there is no room for it. */
static inline uint32_t rules_find(uint64_t address) {
    uint32_t pc = load_acquire(rules_recent_at(address));
    return likely(segment.pcs[pc].address == address) ? pc : rules_look_up(address);
}

/* A library was unloaded, and its module marked as closed: its addresses, and those of no module, are looked at anew. What is in
 * the segment stays. Walks kept from before it must be thrown away: rules_generation() has changed. */
void rules_forget(void);

/* In a forked child. */
void rules_forked(void);

/* Gives the memory back. Only while no other thread can be using it. */
void rules_discard(void);

extern uint32_t rules_generation_now HIDDEN;
static inline uint32_t rules_generation(void) {
    return load_acquire(&rules_generation_now);
}

#endif
