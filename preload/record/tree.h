/* SPDX-License-Identifier: Apache-2.0 */
/* The call tree and its buckets: inserting and finding (see proto/segment.h for what they are). Lock-free. */
#ifndef CPROF_RECORD_TREE_H
#define CPROF_RECORD_TREE_H

#include <stdint.h>

#include "preload/record/process.h"
#include "preload/record/segment.h"

/* 0, or no memory. */
int tree_init(void);

/* In a forked child: buckets below process_first_bucket stay as they are, new blocks get new ones. */
void tree_forget_buckets(void);

/* Gives the memory back. Only while no other thread can be using it. */
void tree_discard(void);

/* In front of the index of nodes, as rules.h has one for addresses. */
#define TREE_RECENT_BITS 13
extern uint32_t tree_recent[1u << TREE_RECENT_BITS] HIDDEN;
static inline uint32_t *tree_recent_at(uint32_t parent, uint32_t pc) {
    return &tree_recent[(parent * 0x9e3779b97f4a7c15ull + pc) * 0xff51afd7ed558ccdull >> (64 - TREE_RECENT_BITS)];
}

/* Child of a node for the frame at `pc` (index in the pcs); 0 if there is no room. */
uint32_t tree_look_up_child(uint32_t parent, uint32_t pc);
static inline uint32_t tree_child(uint32_t parent, uint32_t pc) {
    /* Most nodes have one child that matters; to follow it is a shorter way than any hash. */
    uint32_t hint = load_acquire(&segment.nodes[parent].child);
    if (likely(segment.nodes[hint].pc == pc))
        return hint;
    uint32_t node = load_acquire(tree_recent_at(parent, pc));
    const struct segment_node *n = &segment.nodes[node];
    if (unlikely(n->pc != pc) || unlikely(n->parent != parent))
        node = tree_look_up_child(parent, pc);
    store_release(&segment.nodes[parent].child, node);
    return node;
}

/* The node that stands for the missing outer frames of a cut stack. */
uint32_t tree_truncated(void);

/* The same for buckets, of nodes that have many. */
#define TREE_RECENT_BUCKET_BITS 12
extern uint32_t tree_recent_bucket[1u << TREE_RECENT_BUCKET_BITS] HIDDEN;

/* Bucket for blocks of `size` bytes asked for at `node`; 0 if there is no room. */
uint32_t tree_look_up_bucket(uint32_t node, uint64_t size);
static inline uint32_t tree_find_bucket(uint32_t node, uint64_t size) {
    /* One node's sizes are apart, however many there are. */
    uint32_t *recent = &tree_recent_bucket[((node * 0x9e3779b97f4a7c15ull >> 40) + size) %
                                           (1u << TREE_RECENT_BUCKET_BITS)];
    uint32_t b = load_acquire(recent);
    if (likely(b >= process_first_bucket && segment.buckets[b].node == node && segment.buckets[b].size == size))
        return b;
    b = tree_look_up_bucket(node, size);
    store_release(recent, b);
    return b;
}
static inline uint32_t tree_bucket(uint32_t node, uint64_t size) {
    uint32_t newest = load_acquire(&segment.nodes[node].bucket);
    if (likely(newest >= process_first_bucket && segment.buckets[newest].size == size))
        return newest;
    return tree_find_bucket(node, size);
}

#endif
