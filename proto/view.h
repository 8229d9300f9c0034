/* SPDX-License-Identifier: Apache-2.0 */
/* Reading a segment, whoever wrote it.
 *
 * Role:    the one way to look into a segment (segment.h). Takes nothing in it on trust: the bytes may be those of a
 *          process that is still writing, that was killed half-way, or of a file that somebody forged.
 * Callers: the encoder, inside the profiled process and in the tools; the tools' lists of processes.
 * Rules:   allocates nothing, calls no system, takes no lock, keeps no state but the view's own; safe in a signal
 *          handler. Any number of views may look at one segment. All loads of the segment are atomic ones.
 *
 * A view shows the segment as of segment_view_open(): the header and the number of entries in use are copied then.
 * Only counts go on moving. Open it again to see more; there is nothing to close. The memory must stay mapped while
 * the view is used, and must not shrink.
 *
 * Termination: a node's parent and a bucket's successor always have a smaller index than itself, or the accessor says
 * false, so following them ends. A bucket belongs to the one node that it names, so going through the buckets of all
 * nodes looks at no bucket twice if lists are left where bucket.node differs.
 */
#ifndef CPROF_PROTO_VIEW_H
#define CPROF_PROTO_VIEW_H

#include "proto/segment.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct segment_view {
    struct segment_header
        header;         /* a copy; `name` ends in a zero byte. Its `region` is for segment_view_open() alone */
    const char *reason; /* why opening failed: a constant text for people; "" after success */
    const struct segment_header *live; /* the header itself */
    const unsigned char *region[SEGMENT_REGIONS];
    uint32_t capacity[SEGMENT_REGIONS]; /* entries that may be looked at */
    uint32_t used[SEGMENT_REGIONS];     /* entries in use, at most `capacity`; of SEGMENT_COUNTS always 0 */
};

/* Checks the `len` bytes at `base` (aligned to 8) and makes the view. Returns 0, or with view->reason set
 *   -ENODATA   too short to be a segment, or cut off
 *   -EINVAL    not a segment, or damaged
 *   -EPROTO    a segment of another version */
int segment_view_open(struct segment_view *view, const void *base, size_t len);

/* Accessors. They copy entry `index` to *out and return true, or return false, *out being undefined, if there is no
 * such entry or it breaks the segment's rules. Index 0 is never an entry. */

/* Only modules that are whole (`ready`) and whose range is not reversed. */
bool segment_view_module(const struct segment_view *view, uint32_t index, struct segment_module *out);
bool segment_view_pc(const struct segment_view *view, uint32_t index, struct segment_pc *out);
bool segment_view_node(const struct segment_view *view, uint32_t index, struct segment_node *out);
/* Also buckets newer than the view, as they stand in the lists before older ones: leave out the values of those that
 * are not below used[SEGMENT_BUCKETS], and go on to their `next`. */
bool segment_view_bucket(const struct segment_view *view, uint32_t index, struct segment_bucket *out);

/* Sum of a bucket's counts over all shards; 0 and 0 if there is no such bucket. frees <= allocs always: all frees are
 * read before any of the allocations, and what a damaged segment says beyond that is cut. */
struct segment_count segment_view_counts(const struct segment_view *view, uint32_t bucket);

/* Blocks of a bucket in use at the peak; 0 if peaks are not kept. Meaningful only if header.peak_version was even and
 * segment_view_peak_version() still returns the same afterwards. */
uint64_t segment_view_peak(const struct segment_view *view, uint32_t bucket);

/* The peak region's version now, not as of the view. */
uint64_t segment_view_peak_version(const struct segment_view *view);

/* Copies the text at `offset` of the strings, up to its zero byte or `len` bytes, whichever comes first, and a zero
 * byte behind it. Returns its length; 0 for offset 0, one outside the region, and for a text that does not fit `size`
 * (a piece of a path or an expression would be wrong rather than short). */
size_t segment_view_text(const struct segment_view *view, uint32_t offset, size_t len, char *buf, size_t size);

/* Copies `len` bytes at `offset` of the strings, zero bytes too. Returns `len`, or 0 as above. */
size_t segment_view_bytes(const struct segment_view *view, uint32_t offset, size_t len, void *buf, size_t size);

/* Exact totals: over all threads, and `other` of the header. Saturating. */
struct segment_thread segment_view_totals(const struct segment_view *view);

#endif
