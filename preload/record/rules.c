/* SPDX-License-Identifier: Apache-2.0 */
#include "preload/record/rules.h"

#include "preload/record/index.h"
#include "preload/record/modules.h"
#include "preload/record/stack.h"

uint32_t rules_recent[1u << RULES_RECENT_BITS];
uint32_t rules_generation_now = 1;

/* Addresses in modules, which stay: a library that comes back to where it was finds its own again. And those in none, which
 * anything may be at after the next library was closed. */
static struct index entries, strays;

static uint64_t hash_of(uint32_t entry) {
    return index_hash(segment.pcs[entry].address, 0);
}
static int matches(uint32_t entry, uint64_t address, uint64_t unused) {
    (void)unused;
    const struct segment_pc *pc = &segment.pcs[entry];
    return pc->address == address && !(load_relaxed(&segment.modules[pc->module].flags) & SEGMENT_MODULE_CLOSED);
}

#define STRAYS 256 /* slots at first */

int rules_init(void) {
    return index_init(&entries, hash_of, 4096) && index_init(&strays, hash_of, STRAYS);
}

void rules_discard(void) {
    index_discard(&entries);
    index_discard(&strays);
}

void rules_forked(void) {
    entries.growing = strays.growing = 0; /* whoever was at it is in the parent */
}

void rules_forget(void) {
    const struct index_table *t = load_acquire(&strays.table);
    if (t && load_relaxed(&t->used))
        index_clear(&strays, STRAYS);
    for (size_t i = 0; i < sizeof rules_recent / sizeof *rules_recent; i++)
        store_relaxed(&rules_recent[i], 0u);
    __atomic_fetch_add(&rules_generation_now, 1, __ATOMIC_ACQ_REL);
}

/* mov $15, %rax (rt_sigreturn); syscall. Found so in every libc's trampoline, where the call frame information, if any,
 * is an expression for each register. */
static int is_sigreturn(uintptr_t pc) {
    static const uint8_t code[] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05};
    if (!stack_probe(pc, sizeof code))
        return 0;
    for (unsigned i = 0; i < sizeof code; i++)
        if (((const uint8_t *)pc)[i] != code[i])
            return 0;
    return 1;
}

static COLD uint32_t learn(uint64_t address) {
    struct object o;
    struct rule rule = {.kind = RULE_NONE};
    uint32_t module = 0;
    if (modules_object_at(address, &o)) {
        if (unlikely(modules_drop_replaced(address, &o)))
            rules_forget();
        module = modules_at(address, &o);
        /* Its library is back: so is what was known. */
        uint32_t known = index_find(&entries, index_hash(address, 0), matches, address, 0);
        if (known)
            return known;
        rule = cfi_rule(address, o.eh_frame_hdr, o.start, o.limit);
    }
    /* `address` is one less than the return address that the handler returns to. */
    if (rule.kind == RULE_SIGNAL && !is_sigreturn(address + 1))
        rule.kind = RULE_RARE;
    else if (rule.kind == RULE_NONE && is_sigreturn(address + 1))
        rule.kind = RULE_SIGNAL;
    uint32_t entry = segment_take(SEGMENT_PCS, 1);
    if (!entry)
        return 0;
    struct segment_pc *pc = &segment.pcs[entry];
    pc->module = module;
    pc->rule = rule_pack(rule);
    store_release(&pc->address, address);
    index_insert(module ? &entries : &strays, index_hash(address, 0), entry);
    return entry;
}

__attribute__((noinline)) uint32_t rules_look_up(uint64_t address) {
    uint64_t hash = index_hash(address, 0);
    uint32_t pc = index_find(&entries, hash, matches, address, 0);
    if (unlikely(!pc) && !(pc = index_find(&strays, hash, matches, address, 0)))
        pc = learn(address);
    store_release(rules_recent_at(address), pc);
    return pc;
}
