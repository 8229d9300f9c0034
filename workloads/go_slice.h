/* SPDX-License-Identifier: Apache-2.0 */
/* How Go's slices grow, as arithmetic; the memory is the caller's business (see workload.h for why).
 *
 * Go (1.18 and later) grows a slice of capacity c that needs room for n elements to
 *
 *     n                   when n > 2 c
 *     2 c                 when c < 256
 *     c + (c + 768) / 4   repeated until it is enough, otherwise
 *
 * and then rounds the bytes up to a size class of its allocator, or to whole pages of 8 KiB past the largest class,
 * and lets the slice have what was gained. The classes are those of Go 1.16 and later. Worked examples, from empty:
 * 64,000 bytes, 64 at a time, are 19 arrays with 285376 bytes together; 1,000,000 elements of 8 bytes, one at a
 * time, are 38 arrays with 41678072 bytes.
 */
#ifndef CPROF_WORKLOADS_GO_SLICE_H
#define CPROF_WORKLOADS_GO_SLICE_H

#include <stddef.h>
#include <stdint.h>

/* What Go's allocator sets aside for an object of `bytes` bytes. */
static inline size_t go_round_up(size_t bytes) {
    static const uint16_t classes[] = {
        8,     16,    24,    32,    48,    64,    80,    96,    112,   128,   144,   160,   176,   192,
        208,   224,   240,   256,   288,   320,   352,   384,   416,   448,   480,   512,   576,   640,
        704,   768,   896,   1024,  1152,  1280,  1408,  1536,  1792,  2048,  2304,  2688,  3072,  3200,
        3456,  4096,  4864,  5376,  6144,  6528,  6784,  6912,  8192,  9472,  9728,  10240, 10880, 12288,
        13568, 14336, 16384, 18432, 19072, 20480, 21760, 24576, 27264, 28672, 32768,
    };
    const size_t count = sizeof classes / sizeof *classes;
    size_t low = 0, high = count;

    if (bytes > classes[count - 1])
        return (bytes + 8191) / 8192 * 8192;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (classes[middle] < bytes)
            low = middle + 1;
        else
            high = middle;
    }
    return classes[low];
}

/* The bytes of the array that replaces one of `capacity` elements when `needed` (more than that) have to fit. */
static inline size_t go_grown_bytes(size_t capacity, size_t needed, size_t element) {
    size_t grown = capacity;

    if (needed > 2 * capacity)
        grown = needed;
    else if (capacity < 256)
        grown = 2 * capacity;
    else
        while (grown < needed)
            grown += (grown + 3 * 256) / 4;
    return go_round_up(grown * element);
}

#define GO_SLICE(type)                                                                                                 \
    struct {                                                                                                           \
        type *data;                                                                                                    \
        size_t length;                                                                                                 \
        size_t capacity;                                                                                               \
    }

/* Go's append of `count` elements at `elements`, entered in `account`. The old array is garbage once it has been
 * copied. A macro, so that the frame that calls malloc is that of the function which appends. */
#define GO_APPEND(slice, elements, count, account)                                                                     \
    do {                                                                                                               \
        size_t needed_ = (slice).length + (count), size_ = sizeof *(slice).data;                                       \
        if (needed_ > (slice).capacity) {                                                                              \
            size_t bytes_ = go_grown_bytes((slice).capacity, needed_, size_);                                          \
            void *grown_ = malloc(bytes_);                                                                             \
            truth_add(account, grown_, bytes_);                                                                        \
            if ((slice).length)                                                                                        \
                memcpy(grown_, (slice).data, (slice).length *size_);                                                   \
            free((slice).data);                                                                                        \
            (slice).data = grown_;                                                                                     \
            (slice).capacity = bytes_ / size_;                                                                         \
        }                                                                                                              \
        memcpy((slice).data + (slice).length, elements, (count)*size_);                                                \
        (slice).length = needed_;                                                                                      \
    } while (0)

#endif
