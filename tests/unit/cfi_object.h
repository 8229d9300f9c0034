/* SPDX-License-Identifier: Apache-2.0 */
/* Unwind tables made by hand: .eh_frame_hdr and .eh_frame in one block, for code that is nowhere. */
#ifndef CPROF_TESTS_UNIT_CFI_OBJECT_H
#define CPROF_TESTS_UNIT_CFI_OBJECT_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "preload/record/cfi.h"

#define CODE_AT 0x100000u /* of the first function, from the start of the block */

struct program {
    const uint8_t *op;
    size_t len;
};
#define PROGRAM(...) ((struct program){(const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__})})

/* What a CIE says; zero: gcc's. */
struct cie_shape {
    int version;              /* default 1 */
    const char *augmentation; /* default "zR" */
    uint8_t pointer;          /* encoding of code addresses, default pcrel sdata4 */
    int data_align;           /* default -8 */
    int code_align;           /* default 1 */
    int ra;                   /* default 16 */
    int long_length;          /* 64-bit lengths */
    struct program initial;   /* default: CFA = rsp + 8, return address at CFA - 8 */
};

struct function {
    uint32_t at, len; /* from CODE_AT */
    struct program program;
};

struct cfi_object {
    uint8_t bytes[8192];
    size_t len; /* of all; the header is at 0 */
    size_t fde[128];
};

static inline void put(struct cfi_object *o, uint64_t v, unsigned size) {
    for (unsigned i = 0; i < size; i++)
        o->bytes[o->len++] = (uint8_t)(v >> 8 * i);
}

static inline void put_program(struct cfi_object *o, struct program p) {
    memcpy(o->bytes + o->len, p.op, p.len);
    o->len += p.len;
}

static inline void patch32(struct cfi_object *o, size_t at, uint32_t v) {
    for (unsigned i = 0; i < 4; i++)
        o->bytes[at + i] = (uint8_t)(v >> 8 * i);
}

/* Starts a record and returns where its contents do. */
static inline size_t begin_record(struct cfi_object *o, const struct cie_shape *shape) {
    put(o, shape->long_length ? 0xffffffff : 0, 4);
    if (shape->long_length)
        put(o, 0, 8);
    return o->len;
}

static inline void end_record(struct cfi_object *o, const struct cie_shape *shape, size_t contents) {
    while (o->len % 8 != 4)
        o->bytes[o->len++] = 0; /* DW_CFA_nop */
    patch32(o, contents - (shape->long_length ? 8 : 4), (uint32_t)(o->len - contents));
}

static inline void put_pointer(struct cfi_object *o, uint8_t enc, uint64_t target) {
    uint64_t v = target;
    if ((enc & 0x70) == 0x10)
        v -= (uintptr_t)o->bytes + o->len;
    put(o, v, (enc & 15) == 0x0b || (enc & 15) == 0x03 ? 4 : (enc & 15) == 0x02 || (enc & 15) == 0x0a ? 2 : 8);
}

static inline void make_object(struct cfi_object *o, const struct cie_shape *given, const struct function *f,
                               unsigned n) {
    struct cie_shape shape = given ? *given : (struct cie_shape){0};
    const char *aug = shape.augmentation ? shape.augmentation : "zR";
    uint8_t enc = shape.pointer ? shape.pointer : 0x1b;
    if (!strchr(aug, 'R'))
        enc = 0;
    memset(o, 0, sizeof *o);
    put(o, 0x3b031b01, 4); /* version 1; pcrel sdata4, udata4, datarel sdata4 */
    put(o, 8 + 8 * n, 4);  /* .eh_frame, from here */
    put(o, n, 4);
    size_t table = o->len;
    o->len += 8 * n;

    size_t cie = o->len, contents = begin_record(o, &shape);
    put(o, 0, 4);
    put(o, (uint64_t)(shape.version ? shape.version : 1), 1);
    for (const char *c = aug;; c++) {
        put(o, (uint8_t)*c, 1);
        if (!*c)
            break;
    }
    if (shape.version == 4)
        put(o, 8, 2);
    put(o, (uint64_t)(shape.code_align ? shape.code_align : 1), 1);
    put(o, (uint64_t)(shape.data_align ? shape.data_align : -8) & 127, 1);
    put(o, (uint64_t)(shape.ra ? shape.ra : 16), 1);
    if (*aug == 'z') {
        size_t len_at = o->len++;
        for (const char *c = aug + 1; *c; c++) {
            if (*c == 'R')
                put(o, enc, 1);
            else if (*c == 'L')
                put(o, 0x1b, 1);
            else if (*c == 'P')
                put(o, 0x9b, 1), put(o, 0x1234, 4);
        }
        o->bytes[len_at] = (uint8_t)(o->len - len_at - 1);
    }
    put_program(o, shape.initial.op ? shape.initial : PROGRAM(0x0c, 7, 8, 0x90, 1));
    end_record(o, &shape, contents);

    for (unsigned i = 0; i < n; i++) {
        o->fde[i] = o->len;
        patch32(o, table + 8 * i, CODE_AT + f[i].at);
        patch32(o, table + 8 * i + 4, (uint32_t)o->len);
        contents = begin_record(o, &shape);
        put(o, o->len - cie, 4);
        put_pointer(o, enc, (uintptr_t)o->bytes + CODE_AT + f[i].at);
        put_pointer(o, enc & 15, f[i].len);
        if (*aug == 'z')
            put(o, 0, 1);
        put_program(o, f[i].program);
        end_record(o, &shape, contents);
    }
    put(o, 0, 4);
}

static inline struct rule rule_at(const struct cfi_object *o, uint32_t at) {
    return cfi_rule((uintptr_t)o->bytes + CODE_AT + at, o->bytes, (uintptr_t)o->bytes, (uintptr_t)o->bytes + o->len);
}

#endif
