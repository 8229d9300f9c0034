/* SPDX-License-Identifier: Apache-2.0 */
/* The call tree and its buckets: what readers of a segment rely on holds after any order of insertions, by any threads.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/syscall.h>

#include "preload/record/memory.h"
#include "preload/record/tree.h"
#include "tests/unit/record_helpers.h"
#include "tests/unit/tap.h"

static uint64_t used(enum segment_region r) {
    return segment.header->region[r].used;
}

/* Every bucket is in the list of its node, once, and lists and parents only lead to smaller numbers. */
static void check_order(const char *when) {
    uint32_t nodes = (uint32_t)used(SEGMENT_NODES), buckets = (uint32_t)used(SEGMENT_BUCKETS);
    uint8_t *seen = calloc(buckets, 1);
    uint32_t upwards = 0, rising = 0, strange = 0, linked = 0;
    for (uint32_t n = 1; n < nodes; n++) {
        const struct segment_node *node = &segment.nodes[n];
        upwards += node->parent >= n;
        for (uint32_t b = node->bucket, last = UINT32_MAX; b; last = b, b = segment.buckets[b].next) {
            if (b >= last || b >= buckets) {
                rising++;
                break;
            }
            strange += segment.buckets[b].node != n || seen[b];
            seen[b] = 1;
            linked++;
        }
    }
    ok(!upwards, "%s: parents come before their children", when);
    ok(!rising && !strange, "%s: each node's buckets fall, and are its own", when);
    is(linked, buckets - SEGMENT_BUCKET_FIRST, "each bucket is in a list");
    free(seen);
}

static void test_nodes(void) {
    uint32_t a = tree_child(0, 10), b = tree_child(0, 11), aa = tree_child(a, 10);
    ok(a && b && aa && a != b && aa != a, "nodes for different stacks are different");
    ok(segment.nodes[a].parent == 0 && segment.nodes[a].pc == 10 && segment.nodes[aa].parent == a,
       "with what was asked for");
    is(tree_child(0, 10), a, "the same stack gives the same node");
    is(tree_child(0, 11), b, "also when another one was asked for in between");
    is(tree_child(a, 10), aa, "also deeper");
    is(tree_truncated(), tree_truncated(), "one node for what was cut");
    ok(segment.nodes[tree_truncated()].pc == SEGMENT_PC_TRUNCATED && segment.nodes[tree_truncated()].parent == 0,
       "at the root, with the reserved pc");
    uint32_t wide[2000];
    int same = 1;
    for (uint32_t i = 0; i < 2000; i++)
        wide[i] = tree_child(aa, 100 + i);
    for (uint32_t i = 2000; i-- > 0;)
        same &= tree_child(aa, 100 + i) == wide[i];
    ok(same, "2000 children of one node are all found again");
    uint32_t deep = b;
    for (uint32_t i = 0; i < 10000; i++)
        deep = tree_child(deep, 20 + i % 3);
    uint32_t again = b;
    for (uint32_t i = 0; i < 10000; i++)
        again = tree_child(again, 20 + i % 3);
    is(again, deep, "a chain of 10000 too");
    check_order("nodes");
}

static void test_buckets(void) {
    uint32_t node = tree_child(0, 30), other = tree_child(0, 31);
    uint32_t b[500], o[500];
    for (uint64_t i = 0; i < 500; i++) {
        b[i] = tree_bucket(node, i * 8);
        o[i] = tree_bucket(other, i * 8);
    }
    int same = 1, kept = 1;
    for (uint64_t i = 0; i < 500; i++) {
        same &= tree_bucket(node, i * 8) == b[i] && tree_bucket(other, i * 8) == o[i] && b[i] != o[i];
        kept &= segment.buckets[b[i]].node == node && segment.buckets[b[i]].size == i * 8;
    }
    ok(same, "500 sizes at each of two nodes: found again, and told apart");
    ok(kept, "each is of its node and size");
    ok(tree_bucket(node, 0) >= SEGMENT_BUCKET_FIRST &&
           segment.buckets[tree_bucket(node, UINT64_MAX)].size == UINT64_MAX,
       "sizes 0 and 2^64 - 1 are sizes like others");
    check_order("buckets");
}

/* What a forked child does: the buckets there are stay as they are, new blocks get new ones. */
static void test_forgetting(void) {
    uint32_t node = tree_child(0, 40), old[6], young[6];
    for (uint32_t i = 0; i < 6; i++)
        old[i] = tree_bucket(node, 100 + i);
    process_first_bucket = (uint32_t)used(SEGMENT_BUCKETS);
    tree_forget_buckets();
    int fresh = 1, same = 1;
    for (uint32_t i = 0; i < 6; i++) {
        young[i] = tree_bucket(node, 100 + i);
        fresh &= young[i] >= process_first_bucket && segment.buckets[young[i]].size == 100 + i;
    }
    for (uint32_t i = 0; i < 6; i++)
        same &= tree_bucket(node, 100 + i) == young[i] && segment.buckets[old[i]].size == 100 + i;
    ok(fresh, "inherited buckets are not used for new blocks");
    ok(same, "the new ones are found again, and the old ones as they were");
    is(tree_child(0, 40), node, "nodes are kept");
    check_order("inherited");
    process_first_bucket = SEGMENT_BUCKET_FIRST;
}

static void test_no_memory(void) {
    uint64_t nodes = used(SEGMENT_NODES), buckets = used(SEGMENT_BUCKETS);
    uint32_t refused_node = 0, refused_bucket = 0, node = tree_child(0, 50);
    memory_limit = memory_own();
    for (uint32_t i = 0; i < 100000 && !refused_node; i++)
        refused_node = !tree_child(node, 1000000 + i);
    for (uint32_t i = 0; i < 100000 && !refused_bucket; i++)
        refused_bucket = !tree_bucket(node, 1000000 + i);
    memory_limit = UINT64_MAX;
    ok(refused_node && used(SEGMENT_NODES) > nodes, "at the limit of memory there are no more nodes");
    ok(refused_bucket && used(SEGMENT_BUCKETS) > buckets, "nor buckets");
    ok(tree_child(node, 5000000) && tree_bucket(node, 5000000), "and then there are again");
    check_order("no memory");
}

enum { THREADS = 8, STEPS = 30000 };
static uint32_t wrong[THREADS];

/* All threads want the same few hundred stacks and sizes. */
static void grow(unsigned number) {
    uint64_t state = number + 1;
    for (unsigned i = 0; i < STEPS; i++) {
        uint32_t node = 0, pc = 0;
        for (uint64_t depth = test_random(&state) % 6 + 1; depth--;) {
            pc = 100 + (uint32_t)(test_random(&state) % 4);
            uint32_t parent = node;
            node = tree_child(parent, pc);
            wrong[number] += !node || segment.nodes[node].parent != parent || segment.nodes[node].pc != pc;
        }
        uint64_t size = test_random(&state) % 40;
        uint32_t bucket = tree_bucket(node, size);
        wrong[number] += !bucket || segment.buckets[bucket].node != node || segment.buckets[bucket].size != size;
    }
}

static void test_threads_grow(void) {
    uint64_t nodes = used(SEGMENT_NODES), buckets = used(SEGMENT_BUCKETS);
    test_threads(THREADS, grow);
    uint32_t all = 0;
    for (int i = 0; i < THREADS; i++)
        all += wrong[i];
    is(all, 0, "threads at once: each gets what it asked for");
    nodes = used(SEGMENT_NODES) - nodes;
    buckets = used(SEGMENT_BUCKETS) - buckets;
    printf("# %lu nodes, %lu buckets\n", (unsigned long)nodes, (unsigned long)buckets);
    ok(nodes >= 5460 && nodes < 5460 * THREADS, "few nodes were made twice"); /* 4 + 4^2 + ... + 4^6 stacks */
    check_order("threads");
}

int main(void) {
    test_segment();
    if (!tree_init())
        return 1;
    test_nodes();
    test_buckets();
    test_forgetting();
    test_no_memory();
    test_threads_grow();
    return tap_done();
}
