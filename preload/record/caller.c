/* SPDX-License-Identifier: Apache-2.0 */
#include "preload/record/caller.h"

#include "preload/record/rules.h"

static uintptr_t word(uintptr_t at) {
    return *(const uintptr_t *)at;
}

int caller_of(struct registers *r, uintptr_t limit) {
    uint32_t pc = rules_find(r->ip), rule = segment.pcs[pc].rule, slot = rule_bp_slot(rule);
    uintptr_t cfa, bp = r->bp;
    int bp_is_frame = bp >= r->sp && bp < limit && (bp & 7) == 0;
    if (!pc)
        return 0;
    switch (rule_kind(rule)) {
    case RULE_SP:
        cfa = r->sp + rule_cfa(rule);
        break;
    case RULE_BP:
        cfa = bp + rule_cfa(rule);
        break;
    case RULE_REALIGN:
        if (!bp_is_frame || bp - rule_cfa(rule) < r->sp)
            return 0;
        cfa = word(bp - rule_cfa(rule));
        bp = word(bp);
        break;
    case RULE_NONE:
        if (!bp_is_frame)
            return 0;
        cfa = bp + 16;
        slot = 2;
        break;
    default:
        return 0;
    }
    if (cfa <= r->sp || cfa > limit || (cfa & 7))
        return 0;
    if (slot && cfa - 8ul * slot >= r->sp)
        bp = word(cfa - 8ul * slot);
    *r = (struct registers){.ip = word(cfa - 8) - 1, .sp = cfa, .bp = bp};
    return 1;
}
