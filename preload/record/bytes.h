/* SPDX-License-Identifier: Apache-2.0 */
/* Reading DWARF's data forms, and pointers as .eh_frame encodes them, from bytes that may end anywhere.
 *
 * Formats: DWARF 5, 7.6 (LEB128); Linux Standard Base 5.0, 10.5.1 (pointer encodings). */
#ifndef CPROF_RECORD_BYTES_H
#define CPROF_RECORD_BYTES_H

#include <stddef.h>
#include <stdint.h>

/* Bytes still to read; `bad` once something was read that isn't there. */
struct bytes {
    const uint8_t *at, *end;
    int bad;
};

static inline uint64_t fixed(struct bytes *b, unsigned size) {
    uint64_t v = 0;
    if ((size_t)(b->end - b->at) < size) {
        b->bad = 1;
        b->at = b->end;
        return 0;
    }
    for (unsigned i = 0; i < size; i++)
        v |= (uint64_t)b->at[i] << 8 * i;
    b->at += size;
    return v;
}

static inline uint64_t uleb(struct bytes *b) {
    uint64_t v = 0;
    for (unsigned shift = 0;; shift += 7) {
        uint8_t c = (uint8_t)fixed(b, 1);
        if (shift < 64)
            v |= (uint64_t)(c & 127) << shift;
        if (c < 128)
            return v;
    }
}

static inline int64_t sleb(struct bytes *b) {
    uint64_t v = 0;
    for (unsigned shift = 0;;) {
        uint8_t c = (uint8_t)fixed(b, 1);
        if (shift < 64)
            v |= (uint64_t)(c & 127) << shift;
        shift += 7;
        if (c < 128) {
            if ((c & 64) && shift < 64)
                v |= ~(uint64_t)0 << shift;
            return (int64_t)v;
        }
    }
}

/* Pointer encodings (LSB 5.0, 10.5.1). */
enum { ENC_ULEB = 1, ENC_U2, ENC_U4, ENC_U8, ENC_SLEB = 9, ENC_S2, ENC_S4, ENC_S8, ENC_PCREL = 0x10, ENC_DATAREL = 0x30,
       ENC_INDIRECT = 0x80, ENC_OMIT = 0xff };

static inline uint64_t encoded(struct bytes *b, uint8_t enc, uintptr_t data) {
    uintptr_t here = (uintptr_t)b->at;
    uint64_t v;
    switch (enc & 15) {
    case 0:
    case ENC_U8:
    case ENC_S8:
        v = fixed(b, 8);
        break;
    case ENC_ULEB:
        v = uleb(b);
        break;
    case ENC_SLEB:
        v = (uint64_t)sleb(b);
        break;
    case ENC_U2:
        v = fixed(b, 2);
        break;
    case ENC_S2:
        v = (uint64_t)(int64_t)(int16_t)fixed(b, 2);
        break;
    case ENC_U4:
        v = fixed(b, 4);
        break;
    case ENC_S4:
        v = (uint64_t)(int64_t)(int32_t)fixed(b, 4);
        break;
    default:
        b->bad = 1;
        return 0;
    }
    if ((enc & 0x70) == ENC_PCREL)
        v += here;
    else if ((enc & 0x70) == ENC_DATAREL)
        v += data;
    else if (enc & 0x70)
        b->bad = 1;
    return v; /* what ENC_INDIRECT points to is never needed here */
}

#endif
