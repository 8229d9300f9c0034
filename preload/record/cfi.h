/* SPDX-License-Identifier: Apache-2.0 */
/* From call frame information to a walking rule.
 *
 * For one address, finds its FDE in .eh_frame_hdr's search table, runs the CFA program up to the address, and says in 32
 * bits how to get to the caller's frame, if it can be said so. That is so for all but rare shapes (expressions other than
 * gcc's stack realignment, a return address elsewhere than below the CFA); those are left to libunwind (backend/).
 *
 * Formats: System V ABI AMD64 supplement 1.0, 3.7 and 4.2.4; DWARF 5, 6.4; Linux Standard Base 5.0, "DWARF Extensions".
 *
 * Why not libunwind for all of them: it takes a mutex and makes two system calls for each address it has not seen (an
 * allocation path must do neither, see tests/bench/learn.c for the figures), uses several KiB of a stack that may not have
 * them, and can be left in an inconsistent state by a fork. This does none of it: no allocation, no lock, no system call,
 * under 1 KiB of stack. */
#ifndef CPROF_RECORD_CFI_H
#define CPROF_RECORD_CFI_H

#include <stddef.h>
#include <stdint.h>

/* How a frame leads to its caller's. sp is rsp at the address, bp is rbp. */
enum rule_kind {
    RULE_NONE = 0, /* no call frame information here: try the frame pointer */
    RULE_SP,       /* CFA = sp + cfa */
    RULE_BP,       /* CFA = bp + cfa */
    RULE_SP_LARGE, /* as RULE_SP, of a frame that is too large for that */
    RULE_REALIGN,  /* CFA = *(bp - cfa), and the caller's bp is *bp: gcc's frames with a realigned stack */
    RULE_SIGNAL,   /* a signal's trampoline: sp points to the interrupted code's ucontext */
    RULE_END,      /* outermost frame */
    RULE_RARE,     /* something else */
};

/* In all but the last three kinds the return address is at CFA - 8, the caller's sp is the CFA, and the caller's bp is
 * at CFA - 8 * bp_slot, or unchanged if that is 0. Packed into 32 bits: kind 3, bp_slot 9, cfa / 8: 20; if large, 3, 4 and 25. */
#define RULE_MAX_CFA (8u << 20)
#define RULE_MAX_SLOT 512
#define RULE_LARGE_MAX_CFA (256u << 20)
#define RULE_LARGE_MAX_SLOT 16 /* of at most six registers that are pushed first */
struct rule {
    enum rule_kind kind;
    uint32_t cfa;     /* bytes, a multiple of 8, below RULE_MAX_CFA */
    uint32_t bp_slot; /* below RULE_MAX_SLOT */
};

static inline uint32_t rule_pack(struct rule r) {
    unsigned slot_bits = r.kind == RULE_SP_LARGE ? 4 : 9;
    return (uint32_t)r.kind | r.bp_slot << 3 | (r.cfa / 8) << (3 + slot_bits);
}
static inline uint32_t rule_kind(uint32_t packed) {
    return packed & 7;
}
/* Of all kinds but RULE_SP_LARGE. */
static inline uint32_t rule_bp_slot(uint32_t packed) {
    return packed >> 3 & (RULE_MAX_SLOT - 1);
}
static inline uint32_t rule_cfa(uint32_t packed) {
    return packed >> 12 << 3;
}
/* Of any. */
static inline struct rule rule_unpack(uint32_t packed) {
    if (rule_kind(packed) == RULE_SP_LARGE)
        return (struct rule){RULE_SP_LARGE, packed >> 7 << 3, packed >> 3 & (RULE_LARGE_MAX_SLOT - 1)};
    return (struct rule){(enum rule_kind)rule_kind(packed), rule_cfa(packed), rule_bp_slot(packed)};
}

/* Rule for the code at `address` in an object whose search table is at `eh_frame_hdr`; [start, limit) bounds all reads. */
struct rule cfi_rule(uintptr_t address, const uint8_t *eh_frame_hdr, uintptr_t start, uintptr_t limit);

#endif
