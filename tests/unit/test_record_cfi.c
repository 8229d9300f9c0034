/* SPDX-License-Identifier: Apache-2.0 */
/* Walking rules from call frame information made by hand: every operation, every shape of CIE, and tables that are
 * wrong. */
#include "tests/unit/cfi_object.h"
#include "tests/unit/tap.h"

static struct cfi_object object;

static const char *const kinds[] = {"none", "sp", "bp", "large sp", "realign", "signal", "end", "rare"};

static const char *text_of(struct rule r) {
    static char text[64];
    if (r.kind >= RULE_SP && r.kind <= RULE_REALIGN)
        snprintf(text, sizeof text, "%s+%u slot %u", kinds[r.kind], r.cfa, r.bp_slot);
    else
        snprintf(text, sizeof text, "%s", kinds[r.kind]);
    return text;
}

#define rule_is(at, want, what) is_text(text_of(rule_at(&object, at)), want, what)

/* The rule that one program gives at its function's byte `at`. */
#define program_gives(program, at, want, what)                                                                         \
    do {                                                                                                               \
        make_object(&object, NULL, &(struct function){0, 256, program}, 1);                                            \
        rule_is(at, want, what);                                                                                       \
    } while (0)

static void test_usual(void) {
    /* push %rbp; mov %rsp, %rbp; ... leave; ret */
    make_object(&object, NULL,
                &(struct function){0, 64, PROGRAM(0x41, 0x0e, 16, 0x86, 2, 0x43, 0x0d, 6, 0x02, 50, 0x0c, 7, 8)}, 1);
    rule_is(0, "sp+8 slot 0", "at the first instruction");
    rule_is(1, "sp+16 slot 2", "after push");
    rule_is(3, "sp+16 slot 2", "up to the next row");
    rule_is(4, "bp+16 slot 2", "with a frame pointer");
    rule_is(53, "bp+16 slot 2", "until it is left");
    rule_is(54, "sp+8 slot 2", "after leave: where rbp was does not matter any more");
    rule_is(63, "sp+8 slot 2", "up to the last byte");
    rule_is(64, "none", "behind the function there is nothing");
    is(rule_at(&object, (uint32_t)-1).kind, RULE_NONE, "nor before it");
}

static void test_operations(void) {
    program_gives(PROGRAM(0x0e, 0x80, 0x02), 0, "sp+256 slot 0", "def_cfa_offset of two bytes");
    program_gives(PROGRAM(0x0c, 6, 16), 0, "bp+16 slot 0", "def_cfa");
    program_gives(PROGRAM(0x0d, 6), 0, "bp+8 slot 0", "def_cfa_register keeps the offset");
    program_gives(PROGRAM(0x12, 7, 0x7c), 0, "sp+32 slot 0", "def_cfa_sf: factored and signed");
    program_gives(PROGRAM(0x13, 0x7d), 0, "sp+24 slot 0", "def_cfa_offset_sf");
    program_gives(PROGRAM(0x86, 3), 0, "sp+8 slot 3", "offset");
    program_gives(PROGRAM(0x05, 6, 0x84, 0x01), 0, "sp+8 slot 132", "offset_extended");
    program_gives(PROGRAM(0x11, 6, 5), 0, "sp+8 slot 5", "offset_extended_sf");
    program_gives(PROGRAM(0x86, 3, 0xc6), 0, "sp+8 slot 0", "restore");
    program_gives(PROGRAM(0x86, 3, 0x06, 6), 0, "sp+8 slot 0", "restore_extended");
    program_gives(PROGRAM(0x86, 3, 0x08, 6), 0, "sp+8 slot 0", "same_value");
    program_gives(PROGRAM(0x86, 3, 0x07, 6), 0, "sp+8 slot 0", "undefined: left as it is");
    program_gives(PROGRAM(0x07, 16), 0, "end", "no return address: the outermost frame");
    program_gives(PROGRAM(0x83, 5, 0x8c, 4, 0x07, 3), 0, "sp+8 slot 0", "other registers don't matter");
    program_gives(PROGRAM(0x09, 3, 6), 0, "sp+8 slot 0", "register, of another one");
    program_gives(PROGRAM(0x09, 6, 3), 0, "rare", "rbp in another register");
    program_gives(PROGRAM(0x14, 6, 2), 0, "rare", "val_offset");
    program_gives(PROGRAM(0x15, 6, 2), 0, "rare", "val_offset_sf");
    program_gives(PROGRAM(0x16, 6, 2, 0x76, 0), 0, "rare", "val_expression");
    program_gives(PROGRAM(0x16, 3, 2, 0x76, 0, 0x0e, 16), 0, "sp+16 slot 0",
                  "val_expression of another one is skipped");
    program_gives(PROGRAM(0x00, 0x00, 0x0e, 16), 0, "sp+16 slot 0", "nop");
    program_gives(PROGRAM(0x2e, 0x90, 1, 0x0e, 16), 0, "sp+16 slot 0", "GNU_args_size");
    program_gives(PROGRAM(0x01, 0, 0, 0, 0, 0, 0, 0, 0), 0, "rare", "set_loc is left to libunwind");
    program_gives(PROGRAM(0x3e), 0, "rare", "an unknown operation");
    program_gives(PROGRAM(0x02, 200, 0x0e, 16), 199, "sp+8 slot 0", "advance_loc1: before it");
    program_gives(PROGRAM(0x02, 200, 0x0e, 16), 200, "sp+16 slot 0", "advance_loc1: from it on");
    program_gives(PROGRAM(0x03, 200, 0, 0x0e, 16), 199, "sp+8 slot 0", "advance_loc2: before it");
    program_gives(PROGRAM(0x03, 200, 0, 0x0e, 16), 200, "sp+16 slot 0", "advance_loc2: from it on");
    program_gives(PROGRAM(0x04, 200, 0, 0, 0, 0x0e, 16), 200, "sp+16 slot 0", "advance_loc4");
    program_gives(PROGRAM(0x7f, 0x0e, 16), 63, "sp+16 slot 0", "advance_loc");
    program_gives(PROGRAM(0x04, 0xff, 0xff, 0xff, 0xff, 0x0e, 16), 255, "sp+8 slot 0", "advance beyond the function");
}

static void test_states(void) {
    program_gives(PROGRAM(0x0e, 16, 0x86, 2, 0x0a, 0x0c, 6, 24, 0xc6, 0x44, 0x0b), 3, "bp+24 slot 0",
                  "after remember_state");
    program_gives(PROGRAM(0x0e, 16, 0x86, 2, 0x0a, 0x0c, 6, 24, 0xc6, 0x44, 0x0b), 4, "sp+16 slot 2",
                  "restore_state brings back CFA and registers");
    program_gives(PROGRAM(0x0e, 16, 0x0a, 0x0e, 24, 0x0a, 0x0e, 32, 0x41, 0x0b, 0x41, 0x0b), 0, "sp+32 slot 0",
                  "nested states");
    program_gives(PROGRAM(0x0e, 16, 0x0a, 0x0e, 24, 0x0a, 0x0e, 32, 0x41, 0x0b, 0x41, 0x0b), 1, "sp+24 slot 0",
                  "the inner one");
    program_gives(PROGRAM(0x0e, 16, 0x0a, 0x0e, 24, 0x0a, 0x0e, 32, 0x41, 0x0b, 0x41, 0x0b), 2, "sp+16 slot 0",
                  "the outer one");
    program_gives(PROGRAM(0x0b), 0, "rare", "restore_state of nothing");
    program_gives(PROGRAM(0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0e, 16), 0, "sp+16 slot 0", "eight states");
    program_gives(PROGRAM(0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a), 0, "rare",
                  "more states than there is room for");
    program_gives(PROGRAM(0x0a, 0x41, 0x0b), 0, "sp+8 slot 0", "what comes after the address is not looked at");
    program_gives(PROGRAM(0x41, 0x0b), 0, "sp+8 slot 0", "even if it makes no sense");
}

static void test_expressions(void) {
    program_gives(PROGRAM(0x0f, 3, 0x76, 0x78, 0x06, 0x10, 6, 2, 0x76, 0), 0, "realign+8 slot 0",
                  "gcc's realigned stack");
    program_gives(PROGRAM(0x0f, 3, 0x76, 0x50, 0x06, 0x10, 6, 2, 0x76, 0), 0, "realign+48 slot 0", "with more saved");
    program_gives(PROGRAM(0x0f, 3, 0x76, 0x78, 0x06), 0, "rare", "without rbp");
    program_gives(PROGRAM(0x0f, 3, 0x76, 0x08, 0x06, 0x10, 6, 2, 0x76, 0), 0, "rare", "above rbp");
    program_gives(PROGRAM(0x0f, 3, 0x76, 0x7c, 0x06, 0x10, 6, 2, 0x76, 0), 0, "rare", "not a multiple of 8");
    program_gives(PROGRAM(0x0f, 3, 0x76, 0x78, 0x06, 0x10, 6, 2, 0x76, 8), 0, "rare", "rbp elsewhere");
    program_gives(PROGRAM(0x0f, 2, 0x76, 0x78, 0x10, 6, 2, 0x76, 0), 0, "rare", "no dereference");
    program_gives(PROGRAM(0x0f, 3, 0x77, 0x78, 0x06), 0, "rare", "another register");
    program_gives(PROGRAM(0x0f, 4, 0x76, 0x78, 0x06, 0x06, 0x10, 6, 2, 0x76, 0), 0, "rare", "one operation more");
    program_gives(PROGRAM(0x0f, 0), 0, "rare", "an empty expression");
    program_gives(PROGRAM(0x0f, 0xff, 0xff, 0x03), 0, "rare", "an expression longer than its record");
    program_gives(PROGRAM(0x10, 6, 2, 0x77, 0x08), 0, "rare", "rbp by an expression");
    program_gives(PROGRAM(0x10, 3, 2, 0x77, 0x08), 0, "sp+8 slot 0", "another register by an expression");
    program_gives(PROGRAM(0x10, 16, 2, 0x77, 0x08), 0, "rare", "the return address by an expression");
    /* A lazily bound PLT: CFA = rsp + 8 + (rip & 15 >= 11) * 8 */
    program_gives(PROGRAM(0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22), 0, "rare",
                  "the linker's PLT");
    program_gives(PROGRAM(0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22, 0x41, 0x0c, 7, 24), 1,
                  "sp+24 slot 0", "def_cfa after an expression");
}

static void test_limits(void) {
    program_gives(PROGRAM(0x0e, 0), 0, "rare", "a CFA at rsp");
    program_gives(PROGRAM(0x0e, 12), 0, "rare", "a CFA that is not a multiple of 8");
    program_gives(PROGRAM(0x12, 7, 2), 0, "rare", "a CFA below rsp");
    program_gives(PROGRAM(0x0e, 0xf8, 0xff, 0xff, 0x03), 0, "sp+8388600 slot 0", "the largest ordinary frame");
    program_gives(PROGRAM(0x0e, 0x80, 0x80, 0x80, 0x04), 0, "large sp+8388608 slot 0", "a larger one");
    program_gives(PROGRAM(0x0e, 0xf8, 0xff, 0xff, 0x7f, 0x86, 15), 0, "large sp+268435448 slot 15", "the largest");
    program_gives(PROGRAM(0x0e, 0x80, 0x80, 0x80, 0x80, 0x01), 0, "rare", "one larger than that");
    program_gives(PROGRAM(0x0e, 0xf8, 0xff, 0xff, 0x7f, 0x86, 16), 0, "rare", "a large one, with rbp farther away");
    program_gives(PROGRAM(0x0c, 6, 0x80, 0x80, 0x80, 0x04), 0, "rare", "as large, from rbp");
    program_gives(PROGRAM(0x0f, 6, 0x76, 0x80, 0x80, 0x80, 0x7c, 0x06, 0x10, 6, 2, 0x76, 0), 0, "rare",
                  "a realigned stack's end as far from rbp");
    program_gives(PROGRAM(0x0c, 3, 16), 0, "rare", "a CFA from rbx");
    program_gives(PROGRAM(0x0c, 0xff, 0xff, 0xff, 0xff, 0x0f, 16), 0, "rare", "a CFA from register 2^32 - 1");
    program_gives(PROGRAM(0x05, 6, 0xff, 0x03), 0, "sp+8 slot 511", "the farthest slot of rbp");
    program_gives(PROGRAM(0x05, 6, 0x80, 0x04), 0, "rare", "one farther");
    program_gives(PROGRAM(0x11, 6, 0x7f), 0, "rare", "rbp above the CFA");
    program_gives(PROGRAM(0x90, 2), 0, "rare", "the return address elsewhere");
    program_gives(PROGRAM(0x08, 16), 0, "rare", "the return address in no place");
    program_gives(PROGRAM(0x0e, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01), 0,
                  "rare", "a number of more than 64 bits");
    program_gives(PROGRAM(0x12, 7, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x7f), 0, "rare",
                  "INT64_MIN times -8");
    program_gives(PROGRAM(0x86, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f), 0, "rare",
                  "an offset of 2^63 - 1 times -8");
    static const struct rule widest[] = {{RULE_BP, RULE_MAX_CFA - 8, RULE_MAX_SLOT - 1},
                                         {RULE_SP_LARGE, RULE_LARGE_MAX_CFA - 8, RULE_LARGE_MAX_SLOT - 1}};
    for (int i = 0; i < 2; i++) {
        struct rule back = rule_unpack(rule_pack(widest[i]));
        ok(back.kind == widest[i].kind && back.cfa == widest[i].cfa && back.bp_slot == widest[i].bp_slot,
           "packing loses nothing: %s", kinds[widest[i].kind]);
    }
}

static void test_cies(void) {
    struct function f = {0, 64, PROGRAM(0x41, 0x0e, 16, 0x86, 2)};
#define shape_gives(want, what, ...)                                                                                   \
    do {                                                                                                               \
        make_object(&object, &(struct cie_shape){__VA_ARGS__}, &f, 1);                                                 \
        rule_is(1, want, what);                                                                                        \
    } while (0)
    shape_gives("sp+16 slot 2", "CIE version 3", .version = 3);
    shape_gives("sp+16 slot 2", "CIE version 4", .version = 4);
    shape_gives("none", "CIE version 2", .version = 2);
    shape_gives("sp+16 slot 2", "no augmentation, absolute addresses", .augmentation = "");
    shape_gives("sp+16 slot 2", "absolute addresses", .pointer = 0x04);
    shape_gives("sp+16 slot 2", "pcrel of 8 bytes", .pointer = 0x1c);
    shape_gives("sp+16 slot 2", "pcrel, unsigned", .pointer = 0x13);
    shape_gives("none", "text-relative addresses", .pointer = 0x2b);
    shape_gives("sp+16 slot 2", "C++: personality and language data", .augmentation = "zPLR");
    shape_gives("signal", "a signal's frame", .augmentation = "zRS");
    shape_gives("sp+16 slot 2", "pointer authentication's B means nothing here", .augmentation = "zRB");
    shape_gives("none", "an unknown augmentation", .augmentation = "zRX");
    shape_gives("none", "an unknown augmentation without length", .augmentation = "eh");
    shape_gives("sp+16 slot 2", "lengths of 64 bits", .long_length = 1);
    shape_gives("sp+16 slot 1", "data in units of -4", .data_align = -4, .initial = PROGRAM(0x0c, 7, 8, 0x90, 2));
    shape_gives("rare", "no return address in the CIE", .initial = PROGRAM(0x0c, 7, 8));
    shape_gives("rare", "no CFA in the CIE", .initial = PROGRAM(0x90, 1));
    shape_gives("rare", "a CIE's program that makes no sense", .initial = PROGRAM(0x0b));
    shape_gives("sp+16 slot 2", "another return address register", .ra = 17, .initial = PROGRAM(0x0c, 7, 8, 0x91, 1));
    shape_gives("sp+16 slot 2", "an advance in the CIE", .initial = PROGRAM(0x0c, 7, 8, 0x41, 0x90, 1));
    f.program = PROGRAM(0x41, 0x0e, 16);
    make_object(&object, &(struct cie_shape){.code_align = 4}, &f, 1);
    rule_is(3, "sp+8 slot 0", "code in units of 4: before");
    rule_is(4, "sp+16 slot 0", "code in units of 4: from there on");
    f.program = PROGRAM(0xc6);
    shape_gives("sp+8 slot 9", "restore goes back to what the CIE says",
                .initial = PROGRAM(0x0c, 7, 8, 0x90, 1, 0x86, 9));
}

static void test_search(void) {
    enum { N = 100 };
    static struct function f[N];
    static uint8_t op[N][2];
    int right = 1, gaps = 1;
    for (unsigned i = 0; i < N; i++) {
        op[i][0] = 0x0e;
        op[i][1] = (uint8_t)(8 + 8 * (i % 15));
        f[i] = (struct function){i * 64, 48, {op[i], 2}};
    }
    make_object(&object, NULL, f, N);
    for (unsigned i = 0; i < N; i++) {
        for (unsigned at = 0; at < 48; at++)
            right &= rule_at(&object, 64 * i + at).cfa == 8 + 8 * (i % 15);
        gaps &= rule_at(&object, 64 * i + 48).kind == RULE_NONE && rule_at(&object, 64 * i + 63).kind == RULE_NONE;
    }
    ok(right, "each of %d functions is found, at each of its addresses", N);
    ok(gaps, "and nothing between them");
    make_object(&object, NULL, f, 1);
    ok(rule_at(&object, 0).cfa == 8 && rule_at(&object, 48).kind == RULE_NONE, "a table of one");
}

static void test_wrong_tables(void) {
    struct function f[2] = {{0, 64, PROGRAM(0x0e, 16)}, {64, 64, PROGRAM(0x0e, 24)}};
#define broken(what, ...)                                                                                              \
    do {                                                                                                               \
        make_object(&object, NULL, f, 2);                                                                              \
        __VA_ARGS__;                                                                                                   \
        is(rule_at(&object, 70).kind, RULE_NONE, what);                                                                \
    } while (0)
    broken("another version of the header", object.bytes[0] = 2);
    broken("no count", object.bytes[2] = 0xff);
    broken("a table of another form", object.bytes[3] = 0x3c);
    broken("an empty table", patch32(&object, 8, 0));
    broken("a table longer than the object", patch32(&object, 8, 100000));
    broken("an FDE outside of the object", patch32(&object, 12 + 8 + 4, 0x7fffffff));
    broken("an FDE before the object", patch32(&object, 12 + 8 + 4, (uint32_t)-64));
    broken("an FDE that is the CIE", patch32(&object, 12 + 8 + 4, 28));
    broken("an FDE that ends beyond the object", patch32(&object, object.fde[1], 100000));
    broken("a CIE outside of the object", patch32(&object, object.fde[1] + 4, 0x7fffffff));
    broken("a CIE that is an FDE", patch32(&object, object.fde[1] + 4, (uint32_t)(object.fde[1] - object.fde[0] + 4)));
    broken("a table that does not fit its FDEs", patch32(&object, 12 + 8 + 4, (uint32_t)object.fde[0]));
    make_object(&object, NULL, f, 2);
    uintptr_t at = (uintptr_t)object.bytes;
    is(cfi_rule(at + CODE_AT, NULL, at, at + object.len).kind, RULE_NONE, "no header");
    is(cfi_rule(at + CODE_AT, object.bytes, at + 1, at + object.len).kind, RULE_NONE, "a header before the object");
    is(cfi_rule(at + CODE_AT, object.bytes, at - 64, at).kind, RULE_NONE, "a header behind the object");
    int safe = 1;
    for (size_t len = 1; len < object.len - 4; len++)
        safe &= cfi_rule(at + CODE_AT + 70, object.bytes, at, at + len).kind != RULE_BP;
    ok(safe, "cut off anywhere");
}

int main(void) {
    test_usual();
    test_operations();
    test_states();
    test_expressions();
    test_limits();
    test_cies();
    test_search();
    test_wrong_tables();
    return tap_done();
}
