/* SPDX-License-Identifier: Apache-2.0 */
/* Unwind tables that were damaged at random: no read outside of them, no undefined behaviour, and rules within their
 * limits. The sanitizers are what looks; each table is a block of exactly its size. */
#include <dlfcn.h>
#include <link.h>
#include <stdlib.h>

#include "tests/unit/cfi_object.h"
#include "tests/unit/record_helpers.h"
#include "tests/unit/tap.h"

static uint64_t state;

static uint64_t below(uint64_t n) {
    return test_random(&state) % n;
}

static unsigned by_kind[8];

static int look_up(uintptr_t address, const uint8_t *at, size_t len) {
    struct rule r = cfi_rule(address, at, (uintptr_t)at, (uintptr_t)at + len);
    by_kind[r.kind & 7]++;
    uint32_t packed = rule_pack(r);
    if (r.kind != RULE_SP && r.kind != RULE_BP && r.kind != RULE_SP_LARGE && r.kind != RULE_REALIGN)
        return r.kind <= RULE_RARE;
    struct rule back = rule_unpack(packed);
    return r.cfa % 8 == 0 && back.kind == r.kind && back.cfa == r.cfa && back.bp_slot == r.bp_slot;
}

/* Numbers that matter more than others. */
static uint8_t interesting(void) {
    static const uint8_t some[] = {0x00, 0x01, 0x7f, 0x80, 0xff, 0x0a, 0x0b, 0x0f, 0x10, 0x16, 0x1b, 0x76, 0x06};
    return below(2) ? some[below(sizeof some)] : (uint8_t)test_random(&state);
}

static int damaged(const uint8_t *good, size_t len, uintptr_t code, uint32_t code_len, unsigned rounds) {
    int right = 1;
    for (unsigned i = 0; i < rounds; i++) {
        size_t cut = below(4) ? len : len - below(len);
        uint8_t *bad = malloc(cut ? cut : 1);
        memcpy(bad, good, cut);
        for (uint64_t n = below(9); n-- && cut;)
            bad[below(cut)] = interesting();
        if (below(8) == 0 && cut > 16) {
            size_t from = below(cut - 16);
            for (size_t j = from; j < from + 16; j++)
                bad[j] = interesting();
        }
        for (unsigned j = 0; j < 8; j++)
            right &= look_up((uintptr_t)bad + code + below(code_len), bad, cut);
        free(bad);
    }
    return right;
}

/* Makes the program begin with a def_cfa_offset of four bytes, which is a multiple of 8. */
static void large_frame(uint8_t *op) {
    op[0] = 0x0e;
    op[1] = 0x80 | (op[1] & 0x78);
    op[2] |= 0x80;
    op[3] |= 0x80;
    op[4] &= 0x7f;
}

/* Functions with random programs, some of which make sense. */
static void random_programs(unsigned rounds) {
    static struct cfi_object o;
    static uint8_t op[16][32];
    struct function f[16];
    int right = 1;
    for (unsigned i = 0; i < rounds; i++) {
        for (unsigned n = 0; n < 16; n++) {
            size_t len = below(sizeof op[n]) + 1;
            for (size_t j = 0; j < len; j++)
                op[n][j] = below(3) ? (uint8_t)below(0x17) : interesting();
            if (below(4) == 0 && len > 5)
                large_frame(op[n]);
            f[n] = (struct function){n * 64, 64, {op[n], len}};
        }
        struct cie_shape shape = {.version = below(2) ? 1 : 4,
                                  .long_length = below(4) == 0,
                                  .augmentation = below(4) ? "zR" : "zPLR",
                                  .data_align = below(4) ? -8 : -(int)below(60) - 1};
        make_object(&o, &shape, f, 16);
        uint8_t *copy = malloc(o.len);
        memcpy(copy, o.bytes, o.len);
        for (unsigned n = 0; n < 16; n++)
            right &= look_up((uintptr_t)copy + CODE_AT + 64 * n + (uint32_t)below(64), copy, o.len);
        right &= damaged(o.bytes, o.len, CODE_AT, 1024, 4);
        free(copy);
    }
    ok(right, "programs made at random: %u rounds", rounds);
}

struct tables {
    const uint8_t *hdr;
    size_t len;
    uintptr_t code;
    uint32_t code_len;
};

/* Those of libc. */
static int find_tables(struct dl_phdr_info *info, size_t size, void *arg) {
    struct tables *t = arg;
    (void)size;
    if (!strstr(info->dlpi_name, "libc.so"))
        return 0;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
        if (ph->p_type == PT_GNU_EH_FRAME)
            t->hdr = (const uint8_t *)(info->dlpi_addr + ph->p_vaddr);
    }
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
        uintptr_t at = info->dlpi_addr + ph->p_vaddr;
        if (ph->p_type == PT_LOAD && (uintptr_t)t->hdr >= at && (uintptr_t)t->hdr < at + ph->p_memsz)
            t->len = at + ph->p_memsz - (uintptr_t)t->hdr;
        if (ph->p_type == PT_LOAD && (ph->p_flags & PF_X)) {
            t->code = at;
            t->code_len = (uint32_t)ph->p_memsz;
        }
    }
    return 1;
}

/* Tables as a compiler and a linker make them. */
static void real_tables(unsigned rounds) {
    struct tables t = {0};
    dl_iterate_phdr(find_tables, &t);
    if (!ok(t.hdr && t.len && t.code_len, "libc has tables"))
        return;
    uint32_t count;
    memcpy(&count, t.hdr + 8, 4);
    uint8_t *copy = malloc(t.len);
    memcpy(copy, t.hdr, t.len);
    unsigned before = by_kind[RULE_SP] + by_kind[RULE_BP];
    int right = 1;
    for (unsigned i = 0; i < 20000; i++)
        right &= look_up((uintptr_t)copy + (t.code - (uintptr_t)t.hdr) + below(t.code_len), copy, t.len);
    free(copy);
    ok(right && by_kind[RULE_SP] + by_kind[RULE_BP] > before + 15000, "%u functions, undamaged: rules", count);
    /* What is damaged is the header with its table, or one FDE and what is around it. */
    right = 1;
    for (unsigned i = 0; i < rounds; i++) {
        int32_t entry[2];
        memcpy(entry, t.hdr + 12 + 8 * below(count), 8);
        uint8_t *bad = memcpy(malloc(t.len), t.hdr, t.len);
        for (unsigned n = 0; n < 4; n++)
            bad[below(3) ? (size_t)entry[1] + below(48) : below(64)] = interesting();
        for (uint64_t j = 0; j < 8; j++)
            right &= look_up((uintptr_t)bad + (uintptr_t)entry[0] + below(64), bad, t.len);
        free(bad);
    }
    ok(right, "and damaged: %u rounds", rounds);
}

int main(void) {
    state = test_seed();
    random_programs(4000);
    real_tables(3000);
    int met = 1;
    for (unsigned k = 0; k <= RULE_RARE; k++) {
        printf("# kind %u: %u times\n", k, by_kind[k]);
        met &= k == RULE_REALIGN || k == RULE_SIGNAL || by_kind[k] > 0;
    }
    ok(met, "all common kinds of rules came up");
    return tap_done();
}
