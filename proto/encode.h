/* SPDX-License-Identifier: Apache-2.0 */
/* The encoder: a segment in, a gzipped pprof profile out.
 *
 * Role:    the one writer of profiles from segments, in the profiled process as well as in the tools.
 * Rules:   reads no clock, no file and no setting, keeps nothing between calls; takes memory from `memory` alone and
 *          gives all of it back. No stdio, locks, recursion; needs less than 16 KiB of stack. Floating-point
 *          rounding and traps of the calling thread are set to the default inside and restored. Not for a signal
 *          handler unless `memory` and `sink` are fit for one.
 * Memory:  about 1 MiB, and 4 bytes for each pc and module, whatever the number of stacks and buckets.
 *
 * What it writes is what Go's runtime writes (src/runtime/pprof/protomem.go), with these choices of its own:
 *   - samples of one stack are one for each size class (estimate.h); label "bytes" tells the size;
 *   - blocks that a fork brought along carry the label "inherited" = "fork" and are samples of their own;
 *   - samples that the library could not keep apart are at the function SEGMENT_NAME_OVERFLOW;
 *   - `drop_frames` hides functions whose job is to allocate (drop_frames.h);
 *   - one comment, a single line, holds the exact totals beside the estimated ones (comment.h).
 * The file is a row of Profile messages (profile.proto) in one gzip member. A location whose module is not known has
 * no mapping. Mapping 1 is the main binary, even if no location is in it. */
#ifndef CPROF_PROTO_ENCODE_H
#define CPROF_PROTO_ENCODE_H

#include "proto/gzip.h"
#include "proto/port.h"
#include "proto/view.h"

#include <stdbool.h>
#include <stdint.h>

struct encode_options {
    uint64_t now_mono_ns; /* CLOCK_MONOTONIC: when the profile ends; before the start counts as the start */
    bool peak;            /* in use: as of the moment with most bytes in use (SEGMENT_PEAK), instead of now */
    bool partial;         /* by another process, which does not see what is in private memory */
    int level;            /* zlib's, 1 to 9; 0: ENCODE_LEVEL; ENCODE_BARE */
    bool class_sizes;     /* the label "bytes" is the largest size of the class, which doesn't move from one profile
                             of a process to the next, instead of the mean of the blocks */
};

/* As Go does. 100,000 stacks of 30 frames with addresses at random, 11 MB before gzip, on a VM of 2 cores: level 1
 * makes 5.46 MB of it, level 3 5.38, and level 6, in half as much time again, 5.20. Of a real program's 31,377 samples,
 * 5.2 MB before gzip, level 1 makes 418 kB, level 3 397 and level 6 349. */
#define ENCODE_LEVEL 1

/* No gzip: for what is read at once by another part of the same program. */
#define ENCODE_BARE GZIP_BARE

/* Writes the profile. Returns 0, or having written part of it at most
 *   -ENOMEM   `memory` had none
 *   -EAGAIN   the peak was replaced meanwhile, try again (`peak` only)
 *   whatever `sink` returned */
int profile_encode(const struct segment_view *view, const struct encode_options *options,
                   const struct prof_memory *memory, const struct prof_sink *sink);

#endif
