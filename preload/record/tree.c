/* SPDX-License-Identifier: Apache-2.0 */
#include "preload/record/tree.h"

#include "preload/record/index.h"

uint32_t tree_recent[1u << TREE_RECENT_BITS], tree_recent_bucket[1u << TREE_RECENT_BUCKET_BITS];

static struct index nodes, buckets;
static uint32_t truncated;

static uint64_t node_hash(uint32_t n) {
    return index_hash(segment.nodes[n].parent, segment.nodes[n].pc);
}
static int node_match(uint32_t n, uint64_t parent, uint64_t pc) {
    return segment.nodes[n].parent == parent && segment.nodes[n].pc == pc;
}
static uint64_t bucket_hash(uint32_t b) {
    return index_hash(segment.buckets[b].size, segment.buckets[b].node);
}
static int bucket_match(uint32_t b, uint64_t size, uint64_t node) {
    return segment.buckets[b].node == node && segment.buckets[b].size == size;
}

int tree_init(void) {
    truncated = 0;
    return index_init(&nodes, node_hash, 8192) && index_init(&buckets, bucket_hash, 1024);
}

void tree_forget_buckets(void) {
    nodes.growing = 0; /* whoever was at it is in the parent */
    index_init(&buckets, bucket_hash, 1024);
}

void tree_discard(void) {
    index_discard(&nodes);
    index_discard(&buckets);
}

uint32_t tree_truncated(void) {
    uint32_t node = load_relaxed(&truncated);
    if (unlikely(!node))
        store_relaxed(&truncated, node = tree_child(0, SEGMENT_PC_TRUNCATED));
    return node;
}

__attribute__((noinline)) uint32_t tree_look_up_child(uint32_t parent, uint32_t pc) {
    uint64_t hash = index_hash(parent, pc);
    uint32_t node = index_find(&nodes, hash, node_match, parent, pc);
    if (!node) {
        node = segment_take(SEGMENT_NODES, 1);
        if (!node)
            return 0;
        segment.nodes[node].parent = parent;
        segment.nodes[node].pc = pc;
        index_insert(&nodes, hash, node);
    }
    store_release(tree_recent_at(parent, pc), node);
    return node;
}

/* Most stacks ask for few sizes; the newest ones are near the head of the node's list. */
#define NEAR 4

/* Puts the bucket into its node's list, which is kept in falling order so that it can't be made to run in circles. */
static void link_bucket(uint32_t b) {
    uint32_t *link = &segment.nodes[segment.buckets[b].node].bucket, next = load_acquire(link);
    for (;;) {
        if (next > b) {
            link = &segment.buckets[next].next;
            next = load_acquire(link);
            continue;
        }
        segment.buckets[b].next = next;
        if (cas_acq_rel(link, &next, b))
            return;
    }
}

__attribute__((noinline)) uint32_t tree_look_up_bucket(uint32_t node, uint64_t size) {
    const uint32_t first = process_first_bucket;
    uint32_t b = load_acquire(&segment.nodes[node].bucket);
    int seen = 0;
    for (; b >= first && seen < NEAR; seen++, b = load_acquire(&segment.buckets[b].next))
        if (segment.buckets[b].size == size)
            return b;
    uint64_t hash = index_hash(size, node);
    if (seen == NEAR && (b = index_find(&buckets, hash, bucket_match, size, node)))
        return b;
    b = segment_take(SEGMENT_BUCKETS, 1);
    if (!b)
        return 0;
    segment.buckets[b].node = node;
    segment.buckets[b].size = size;
    link_bucket(b);
    index_insert(&buckets, hash, b);
    return b;
}
