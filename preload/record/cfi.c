/* SPDX-License-Identifier: Apache-2.0 */
#include "preload/record/cfi.h"

#include "preload/record/atomic.h"
#include "preload/record/bytes.h"

struct entry {
    uintptr_t pc_begin, pc_end;
    struct bytes initial, program;
    uint64_t code_align;
    int64_t data_align;
    unsigned ra;
    int signal_frame;
};

/* Length field of a CIE or FDE: what follows, without it. */
static struct bytes record(const uint8_t *at, const uint8_t *end) {
    struct bytes b = {at, end, 0};
    uint64_t len = fixed(&b, 4);
    if (len == 0xffffffff)
        len = fixed(&b, 8);
    if (len > (size_t)(b.end - b.at))
        b.bad = 1;
    else
        b.end = b.at + len;
    return b;
}

static int read_cie(struct entry *e, const uint8_t *at, const uint8_t *end, uint8_t *pointer_enc, int *has_augmentation) {
    struct bytes b = record(at, end);
    *pointer_enc = 0; /* absolute, where nothing else is said */
    if (fixed(&b, 4) != 0)
        return 0;
    uint8_t version = (uint8_t)fixed(&b, 1);
    const char *aug = (const char *)b.at;
    while (fixed(&b, 1))
        ;
    if (b.bad || (version != 1 && version != 3 && version != 4))
        return 0;
    if (version == 4)
        fixed(&b, 2); /* address and segment selector sizes */
    e->code_align = uleb(&b);
    e->data_align = sleb(&b);
    e->ra = version == 1 ? (unsigned)fixed(&b, 1) : (unsigned)uleb(&b);
    *has_augmentation = aug[0] == 'z';
    if (*has_augmentation) {
        uint64_t len = uleb(&b);
        if (len > (size_t)(b.end - b.at))
            return 0;
        struct bytes data = {b.at, b.at + len, 0};
        b.at += len;
        for (const char *c = aug + 1; *c; c++) {
            uint8_t enc;
            switch (*c) {
            case 'R':
                *pointer_enc = (uint8_t)fixed(&data, 1);
                break;
            case 'P':
                enc = (uint8_t)fixed(&data, 1);
                if ((enc & 0x70) == 0x50)
                    return 0; /* aligned: unknown to x86-64 compilers */
                encoded(&data, enc & 0x7f, 0);
                break;
            case 'L':
                fixed(&data, 1);
                break;
            case 'S':
                e->signal_frame = 1;
                break;
            case 'B':
                break;
            default:
                return 0;
            }
        }
    } else if (aug[0]) {
        return 0;
    }
    e->initial = b;
    return !b.bad;
}

static int read_fde(struct entry *e, const uint8_t *at, uintptr_t start, uintptr_t limit) {
    struct bytes b = record(at, (const uint8_t *)limit);
    const uint8_t *cie_field = b.at;
    uint64_t back = fixed(&b, 4);
    uint8_t enc;
    int has_augmentation;
    if (b.bad || !back || (uintptr_t)cie_field - back < start || (uintptr_t)cie_field - back >= limit ||
        !read_cie(e, cie_field - back, (const uint8_t *)limit, &enc, &has_augmentation))
        return 0;
    e->pc_begin = encoded(&b, enc, 0);
    e->pc_end = e->pc_begin + encoded(&b, enc & 15, 0);
    if (has_augmentation) {
        uint64_t len = uleb(&b);
        if (len > (size_t)(b.end - b.at))
            return 0;
        b.at += len;
    }
    e->program = b;
    return !b.bad;
}

/* The FDE for an address by the header's sorted table of (code, FDE) pairs, both relative to the header. */
static const uint8_t *search(uintptr_t address, const uint8_t *hdr, uintptr_t limit) {
    struct bytes b = {hdr, (const uint8_t *)limit, 0};
    if (fixed(&b, 1) != 1)
        return NULL;
    uint8_t frame_enc = (uint8_t)fixed(&b, 1), count_enc = (uint8_t)fixed(&b, 1), table_enc = (uint8_t)fixed(&b, 1);
    encoded(&b, frame_enc, (uintptr_t)hdr);
    if (count_enc == ENC_OMIT || table_enc != (ENC_DATAREL | ENC_S4))
        return NULL;
    uint64_t n = encoded(&b, count_enc, (uintptr_t)hdr);
    const struct {
        int32_t code, fde;
    } *table = (const void *)b.at;
    if (b.bad || !n || n > (size_t)(b.end - b.at) / sizeof *table || (uintptr_t)table % sizeof table->code)
        return NULL;
    int64_t wanted = (int64_t)(address - (uintptr_t)hdr);
    if (wanted < table[0].code)
        return NULL;
    size_t low = 0, high = n; /* table[low].code <= wanted < table[high].code */
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (table[middle].code <= wanted)
            low = middle;
        else
            high = middle;
    }
    return hdr + table[low].fde;
}

enum where { SAME, AT_CFA, UNDEFINED, OTHER, AT_BP /* the expression breg6 0 */ };

/* What the CFA program says at one place, for the registers that matter. */
struct row {
    enum { CFA_REG, CFA_DEREF_BP, CFA_OTHER } cfa;
    unsigned reg;
    int64_t offset; /* of the CFA from reg; CFA_DEREF_BP: of the place in memory from rbp */
    struct {
        enum where where;
        int64_t offset;
    } bp, ra;
};

enum { REG_BP = 6, REG_SP = 7, MAX_REMEMBERED = 8 };

static void set(struct row *row, const struct entry *e, uint64_t reg, enum where where, int64_t offset) {
    if (reg == REG_BP) {
        row->bp.where = where;
        row->bp.offset = offset;
    } else if (reg == e->ra) {
        row->ra.where = where;
        row->ra.offset = offset;
    }
}

static void restore(struct row *row, const struct row *initial, const struct entry *e, uint64_t reg) {
    if (reg == REG_BP)
        row->bp = initial->bp;
    else if (reg == e->ra)
        row->ra = initial->ra;
}

/* DW_OP_breg6 (0x76) with an offset, alone or followed by DW_OP_deref (0x06): 1 or 2, else 0. */
static int bp_expression(struct bytes *b, int64_t *offset) {
    uint64_t len = uleb(b);
    if (len > (size_t)(b->end - b->at)) {
        b->bad = 1;
        return 0;
    }
    struct bytes op = {b->at, b->at + len, 0};
    b->at += len;
    if (fixed(&op, 1) != 0x76)
        return 0;
    *offset = sleb(&op);
    if (op.bad)
        return 0;
    if (op.at == op.end)
        return 1;
    return fixed(&op, 1) == 0x06 && op.at == op.end ? 2 : 0;
}

/* Tables may say anything: wraps around rather than overflows. */
static int64_t factored(const struct entry *e, uint64_t n) {
    return (int64_t)(n * (uint64_t)e->data_align);
}

/* Runs the program until it would pass `address`. 0 if it makes no sense. */
static int run(const struct entry *e, struct bytes b, uintptr_t address, struct row *row, const struct row *initial) {
    struct row remembered[MAX_REMEMBERED];
    unsigned depth = 0;
    uintptr_t pc = e->pc_begin;
    while (b.at < b.end && !b.bad && pc <= address) {
        uint8_t op = (uint8_t)fixed(&b, 1);
        uint64_t reg = op & 63, skip;
        int64_t offset;
        struct row before = *row;
        switch (op & 0xc0 ? op & 0xc0 : op) {
        case 0x40: /* advance_loc */
            pc += reg * e->code_align;
            break;
        case 0x80: /* offset */
            set(row, e, reg, AT_CFA, factored(e, uleb(&b)));
            break;
        case 0xc0: /* restore */
            restore(row, initial, e, reg);
            break;
        case 0x00: /* nop */
            break;
        case 0x02: /* advance_loc1, 2, 4 */
            pc += fixed(&b, 1) * e->code_align;
            break;
        case 0x03:
            pc += fixed(&b, 2) * e->code_align;
            break;
        case 0x04:
            pc += fixed(&b, 4) * e->code_align;
            break;
        case 0x05: /* offset_extended */
            reg = uleb(&b);
            set(row, e, reg, AT_CFA, factored(e, uleb(&b)));
            break;
        case 0x06: /* restore_extended */
            restore(row, initial, e, uleb(&b));
            break;
        case 0x07: /* undefined */
            set(row, e, uleb(&b), UNDEFINED, 0);
            break;
        case 0x08: /* same_value */
            set(row, e, uleb(&b), SAME, 0);
            break;
        case 0x09: /* register */
            reg = uleb(&b);
            uleb(&b);
            set(row, e, reg, OTHER, 0);
            break;
        case 0x0a: /* remember_state */
            if (depth == MAX_REMEMBERED)
                return 0;
            remembered[depth++] = *row;
            break;
        case 0x0b: /* restore_state */
            if (!depth)
                return 0;
            *row = remembered[--depth];
            break;
        case 0x0c: /* def_cfa */
            row->cfa = CFA_REG;
            row->reg = (unsigned)uleb(&b);
            row->offset = (int64_t)uleb(&b);
            break;
        case 0x0d: /* def_cfa_register */
            row->cfa = CFA_REG;
            row->reg = (unsigned)uleb(&b);
            break;
        case 0x0e: /* def_cfa_offset */
            row->offset = (int64_t)uleb(&b);
            break;
        case 0x0f: /* def_cfa_expression */
            row->cfa = bp_expression(&b, &row->offset) == 2 ? CFA_DEREF_BP : CFA_OTHER;
            break;
        case 0x10: /* expression */
            reg = uleb(&b);
            set(row, e, reg, bp_expression(&b, &offset) == 1 && offset == 0 ? AT_BP : OTHER, 0);
            break;
        case 0x11: /* offset_extended_sf */
            reg = uleb(&b);
            set(row, e, reg, AT_CFA, factored(e, (uint64_t)sleb(&b)));
            break;
        case 0x12: /* def_cfa_sf */
            row->cfa = CFA_REG;
            row->reg = (unsigned)uleb(&b);
            row->offset = factored(e, (uint64_t)sleb(&b));
            break;
        case 0x13: /* def_cfa_offset_sf */
            row->offset = factored(e, (uint64_t)sleb(&b));
            break;
        case 0x14: /* val_offset, val_offset_sf */
        case 0x15:
            reg = uleb(&b);
            uleb(&b);
            set(row, e, reg, OTHER, 0);
            break;
        case 0x16: /* val_expression */
            reg = uleb(&b);
            skip = uleb(&b);
            b.at += skip <= (size_t)(b.end - b.at) ? skip : (size_t)(b.end - b.at);
            set(row, e, reg, OTHER, 0);
            break;
        case 0x2e: /* GNU_args_size */
            uleb(&b);
            break;
        default:
            return 0;
        }
        if (pc > address) {
            *row = before;
            break;
        }
    }
    return !b.bad;
}

static struct rule rule_of(const struct row *row) {
    struct rule rare = {.kind = RULE_RARE}, r = {0};
    if (row->ra.where == UNDEFINED)
        return (struct rule){.kind = RULE_END};
    if (row->ra.where != AT_CFA || row->ra.offset != -8)
        return rare;
    if (row->cfa == CFA_DEREF_BP) {
        if (row->bp.where != AT_BP || row->offset > 0 || row->offset % 8 || row->offset <= -(int64_t)RULE_MAX_CFA)
            return rare;
        return (struct rule){.kind = RULE_REALIGN, .cfa = (uint32_t)-row->offset};
    }
    if (row->cfa != CFA_REG || (row->reg != REG_SP && row->reg != REG_BP))
        return rare;
    int is_large = row->reg == REG_SP && row->offset >= RULE_MAX_CFA;
    if (row->offset < 8 || row->offset % 8 || row->offset >= (is_large ? RULE_LARGE_MAX_CFA : RULE_MAX_CFA))
        return rare;
    r.kind = row->reg == REG_BP ? RULE_BP : is_large ? RULE_SP_LARGE : RULE_SP;
    r.cfa = (uint32_t)row->offset;
    if (row->bp.where == AT_CFA) {
        int slots = is_large ? RULE_LARGE_MAX_SLOT : RULE_MAX_SLOT;
        if (row->bp.offset >= 0 || row->bp.offset % 8 || row->bp.offset <= -8 * slots)
            return rare;
        r.bp_slot = (uint32_t)(-row->bp.offset / 8);
    } else if (row->bp.where != SAME && row->bp.where != UNDEFINED) {
        return rare;
    }
    return r;
}

struct rule cfi_rule(uintptr_t address, const uint8_t *hdr, uintptr_t start, uintptr_t limit) {
    struct rule none = {.kind = RULE_NONE}, rare = {.kind = RULE_RARE};
    struct entry e = {0};
    if (!hdr || (uintptr_t)hdr < start || (uintptr_t)hdr >= limit)
        return none;
    const uint8_t *fde = search(address, hdr, limit);
    if (!fde || (uintptr_t)fde < start || (uintptr_t)fde >= limit || !read_fde(&e, fde, start, limit) ||
        address < e.pc_begin || address >= e.pc_end)
        return none;
    if (e.signal_frame)
        return (struct rule){.kind = RULE_SIGNAL};
    struct row initial = {.cfa = CFA_OTHER}, row;
    /* The CIE's program sets up the row before the first instruction: no place to stop at in it. */
    if (!run(&e, e.initial, UINTPTR_MAX, &initial, &initial))
        return rare;
    row = initial;
    return run(&e, e.program, address, &row, &initial) ? rule_of(&row) : rare;
}
