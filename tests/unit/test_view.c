/* SPDX-License-Identifier: Apache-2.0 */
/* Segment views: what is accepted, what is refused, and that nothing outside the segment is ever looked at. */
#include "tests/unit/proto_segment.h"
#include "tests/unit/tap.h"

#include "proto/view.h"

#include <errno.h>
#include <stdlib.h>

static struct made made;
static struct segment_view view;

static void test_opening(void) {
    made = made_new(MADE_SMALL, 1);
    is(segment_view_open(&view, made.header, made.size), 0, "a good segment opens");
    is_text(view.reason, "", "and there is no reason against it");
    is(view.header.rate, 1, "the header is there");
    is(view.used[SEGMENT_MODULES], 2, "entries in use are counted");
    is(segment_view_open(&view, made.header, made.size + 4096), 0, "more memory than the segment is fine");

    is(segment_view_open(&view, (char *)made.header + 4, made.size - 4), -EINVAL, "not aligned");
    is(segment_view_open(&view, made.header, 0), -ENODATA, "empty");
    is(segment_view_open(&view, made.header, SEGMENT_PAGE - 1), -ENODATA, "shorter than the header's page");
    is(segment_view_open(&view, made.header, made.size - 1), -ENODATA, "cut off");
    is_text(view.reason, "cut off", "and it says why");

    made.header->magic++;
    is(segment_view_open(&view, made.header, made.size), -EINVAL, "another magic number");
    made.header->magic--;
    made.header->version++;
    is(segment_view_open(&view, made.header, made.size), -EPROTO, "another version");
    made.header->version--;
    made.header->header_size += 8;
    is(segment_view_open(&view, made.header, made.size), -EPROTO, "another header");
    made.header->header_size -= 8;
    made.header->size = 8;
    is(segment_view_open(&view, made.header, made.size), -EINVAL, "a size below one page");
    made.header->size = made.size;
    memset(made.header->name, 'x', sizeof made.header->name);
    is(segment_view_open(&view, made.header, made.size), 0, "a name without an end");
    is(strlen(view.header.name), sizeof view.header.name - 1, "gets one");
    made_free(&made);
}

/* Each region, damaged in each way. */
static void test_extents(void) {
    made = made_new(MADE_SMALL, 1);
    bool all_refused = true;
    for (int r = 0; r < SEGMENT_REGIONS; r++) {
        struct segment_extent good = made.header->region[r];
        const struct segment_extent bad[] = {
            {good.offset + 8, good.entry_size, good.capacity, good.used},
            {0, good.entry_size, good.capacity, good.used},
            {made.size, good.entry_size, good.capacity, good.used},
            {made.size + SEGMENT_PAGE, good.entry_size, good.capacity, good.used},
            {UINT64_MAX - SEGMENT_PAGE + 1, good.entry_size, good.capacity, good.used},
            {good.offset, good.entry_size + 1, good.capacity, good.used},
            {good.offset, 0, good.capacity, good.used},
            {good.offset, good.entry_size, made.size, good.used},
            {good.offset, good.entry_size, UINT64_MAX, good.used},
            {good.offset, good.entry_size, UINT64_MAX / good.entry_size - 1, good.used},
        };
        for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
            made.header->region[r] = bad[i];
            if (segment_view_open(&view, made.header, made.size) != -EINVAL || view.reason[0] == '\0') {
                printf("# region %d, damage %zu\n", r, i);
                all_refused = false;
            }
        }
        made.header->region[r] = good;
    }
    ok(all_refused, "regions that are misplaced, misshapen or too large are refused");

    made.header->region[SEGMENT_COUNTS].capacity--;
    is(segment_view_open(&view, made.header, made.size), -EINVAL, "fewer counts than buckets times shards");
    made.header->region[SEGMENT_COUNTS].capacity++;
    made.header->region[SEGMENT_PEAK].capacity = 0;
    is(segment_view_open(&view, made.header, made.size), 0, "a region may be missing");
    is(segment_view_peak(&view, 2), 0, "and then has nothing");
    made.header->region[SEGMENT_PCS].used = UINT64_MAX;
    is(segment_view_open(&view, made.header, made.size), 0, "`used` may pass the capacity");
    is(view.used[SEGMENT_PCS], made.header->region[SEGMENT_PCS].capacity, "and counts as that");
    made_free(&made);
}

static void test_entries(void) {
    struct segment_module module;
    struct segment_pc pc;
    struct segment_node node;
    struct segment_bucket bucket;

    made = made_new(MADE_SMALL, 1);
    uint32_t p = made_pc(&made, 0x401234, 1);
    uint32_t n1 = made_node(&made, 0, p);
    uint32_t n2 = made_node(&made, n1, p);
    uint32_t b1 = made_bucket(&made, n2, 100);
    uint32_t b2 = made_bucket(&made, n2, 200);
    segment_view_open(&view, made.header, made.size);

    ok(segment_view_module(&view, 1, &module) && module.start == 0x400000, "a module");
    ok(segment_view_pc(&view, p, &pc) && pc.address == 0x401234, "a pc");
    ok(segment_view_node(&view, n2, &node) && node.parent == n1 && node.bucket == b2, "a node");
    ok(segment_view_bucket(&view, b2, &bucket) && bucket.size == 200 && bucket.next == b1, "a bucket");
    ok(!segment_view_module(&view, 0, &module) && !segment_view_pc(&view, 0, &pc) &&
           !segment_view_node(&view, 0, &node) && !segment_view_bucket(&view, 0, &bucket),
       "index 0 is none");
    ok(!segment_view_module(&view, 2, &module) && !segment_view_pc(&view, p + 1, &pc) &&
           !segment_view_node(&view, n2 + 1, &node) && !segment_view_bucket(&view, b2 + 1, &bucket),
       "neither are those not in use");
    ok(!segment_view_module(&view, UINT32_MAX, &module) && !segment_view_pc(&view, UINT32_MAX, &pc) &&
           !segment_view_node(&view, UINT32_MAX, &node) && !segment_view_bucket(&view, UINT32_MAX, &bucket),
       "nor those that can't be");

    uint32_t late = made_bucket(&made, n2, 300);
    ok(segment_view_bucket(&view, late, &bucket) && bucket.next == b2, "a bucket newer than the view leads on");
    is(segment_view_counts(&view, late).allocs, 0, "but has no counts in it");

    made_modules(&made)[1].ready = 0;
    ok(!segment_view_module(&view, 1, &module), "a module that is not ready is none");
    made_modules(&made)[1].ready = 1;
    made_modules(&made)[1].limit = 1;
    ok(!segment_view_module(&view, 1, &module), "nor is one with its range reversed");
    made_nodes(&made)[n2].parent = n2;
    ok(!segment_view_node(&view, n2, &node), "a node is not its own parent");
    made_nodes(&made)[n2].parent = n1;
    made_nodes(&made)[n2].pc = p + 1;
    ok(!segment_view_node(&view, n2, &node), "a node has a pc that exists");
    made_buckets(&made)[b2].next = b2;
    ok(!segment_view_bucket(&view, b2, &bucket), "a bucket is not its own successor");
    made_free(&made);
}

static void test_counts(void) {
    made = made_new(MADE_SMALL, 1);
    uint32_t b = made_bucket(&made, made_node(&made, 0, made_pc(&made, 0x401234, 1)), 100);
    made_count(&made, 0, b, 5, 0);
    made_count(&made, 9, b, 2, 4);
    made_count(&made, SEGMENT_SHARDS - 1, b, 1, 1);
    segment_view_open(&view, made.header, made.size);
    is(segment_view_counts(&view, b).allocs, 8, "allocations are summed over the shards");
    is(segment_view_counts(&view, b).frees, 5, "and frees");
    is(segment_view_counts(&view, 0).allocs, 0, "bucket 0 has none");
    is(segment_view_counts(&view, b + 1).allocs, 0, "nor has one not in use");

    made.header->shard_buckets[9] = b;
    is(segment_view_counts(&view, b).allocs, 6, "a shard without memory for the bucket is not read");
    made.header->shard_buckets[9] = UINT32_MAX;
    is(segment_view_counts(&view, b).allocs, 8, "how far its memory reaches may be anything");
    made_count(&made, 0, b, 0, 10);
    is(segment_view_counts(&view, b).frees, 8, "frees are never more than allocations");
    made_count(&made, 2, b, UINT64_MAX, 0);
    ok(segment_view_counts(&view, b).allocs == UINT64_MAX, "sums don't wrap");

    made_peaks(&made)[b] = 3;
    is(segment_view_peak(&view, b), 0, "no peak was taken");
    made.header->region[SEGMENT_PEAK].used = b + 1;
    made.header->peak_version = 2;
    segment_view_open(&view, made.header, made.size);
    is(segment_view_peak(&view, b), 3, "the peak");
    is(segment_view_peak(&view, b + 1), 0, "of a bucket it was not taken for");
    made.header->peak_version = 4;
    is(segment_view_peak_version(&view), 4, "its version is read anew");

    made.header->region[SEGMENT_THREADS].used = 3;
    made_threads(&made)[1] = (struct segment_thread){.bytes = 100, .calls = 10, .samples = 1};
    made_threads(&made)[2] = (struct segment_thread){.bytes = 200, .calls = 20, .samples = 2};
    made.header->other_bytes = 1000;
    made.header->other_calls = 7;
    segment_view_open(&view, made.header, made.size);
    struct segment_thread total = segment_view_totals(&view);
    ok(total.bytes == 1300 && total.calls == 37 && total.samples == 3, "exact totals");
    made_threads(&made)[1].bytes = UINT64_MAX;
    ok(segment_view_totals(&view).bytes == UINT64_MAX, "that don't wrap");
    made_free(&made);
}

static void test_texts(void) {
    char buf[16];
    made = made_new(MADE_SMALL, 1);
    uint32_t text = made_string(&made, "hello", 5);
    uint32_t raw = made_string(&made, "a\0b", 3);
    uint32_t last = made_string(&made, "end", 3);
    made.header->region[SEGMENT_STRINGS].used--;
    segment_view_open(&view, made.header, made.size);

    is(segment_view_text(&view, text, 5, buf, sizeof buf), 5, "a text");
    is_text(buf, "hello", "as it is");
    is(segment_view_text(&view, text, SIZE_MAX, buf, sizeof buf), 5, "up to its zero byte");
    is(segment_view_text(&view, text, 2, buf, sizeof buf), 2, "or the length given");
    is_text(buf, "he", "terminated all the same");
    is(segment_view_text(&view, text, 5, buf, 6), 5, "into a buffer that just fits");
    is(segment_view_text(&view, text, 5, buf, 5), 0, "not into one too small");
    is_text(buf, "", "which is left empty");
    is(segment_view_text(&view, 0, 5, buf, sizeof buf), 0, "offset 0 is no text");
    is(segment_view_text(&view, UINT32_MAX, 5, buf, sizeof buf), 0, "nor one outside");
    is(segment_view_text(&view, last, SIZE_MAX, buf, sizeof buf), 3, "a text without an end stops at the region's");
    is(segment_view_bytes(&view, raw, 3, buf, sizeof buf), 3, "bytes");
    ok(memcmp(buf, "a\0b", 3) == 0, "with zero bytes in them");
    is(segment_view_bytes(&view, last, 4, buf, sizeof buf), 0, "not beyond the end");
    is(segment_view_bytes(&view, raw, SIZE_MAX, buf, sizeof buf), 0, "however long");
    is(segment_view_bytes(&view, raw, 3, buf, 2), 0, "nor into too small a buffer");
    made_free(&made);
}

int main(void) {
    test_opening();
    test_extents();
    test_entries();
    test_counts();
    test_texts();
    return tap_done();
}
