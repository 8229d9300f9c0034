/* SPDX-License-Identifier: Apache-2.0 */
#include "preload/record/walk.h"

#include "preload/record/process.h"
#include "preload/record/rules.h"
#include "preload/record/tree.h"

enum walk_mode walk_mode = WALK_DWARF;
uint32_t walk_depth = 128;
int (*walk_rare)(struct registers *, int (*)(void *, uintptr_t), void *);

/* Where the frame pointer is all there is, the next frame must start above this one and not too far away; libunwind
 * draws the line at the same distance. */
#define MAX_GUESSED_FRAME 0x4000ul

/* rsp, rbp and rip in struct ucontext (its uc_mcontext.gregs starts at byte 40). */
enum { UCONTEXT_BP = 120, UCONTEXT_SP = 160, UCONTEXT_IP = 168 };

enum step { STEP_DONE, STEP_OUTERMOST, STEP_CUT };

size_t walk_bytes(void) {
    return 2 * (2 * walk_depth * sizeof(struct frame));
}

void walk_init(struct walk *w, void *memory) {
    *w = (struct walk){.frame = memory, .fresh = (struct frame *)memory + 2 * walk_depth};
}

static uint64_t word(uintptr_t at) {
    return *(const uint64_t *)at;
}

static int readable(void *w, uintptr_t at) {
    return stack_readable(&((struct walk *)w)->stack, at);
}

/* The frame that `cfa` is the end of: reads its return address, and rbp if it was saved. */
static enum step leave(struct walk *w, struct registers *r, uintptr_t cfa, uint32_t bp_slot, uint32_t *slot) {
    if (cfa <= r->sp || !stack_readable(&w->stack, cfa - 8))
        return STEP_CUT;
    if (bp_slot) {
        if (cfa - 8 * bp_slot < r->sp || !stack_readable(&w->stack, cfa - 8 * bp_slot))
            return STEP_CUT;
        r->bp = word(cfa - 8 * bp_slot);
    }
    *slot = bp_slot;
    uintptr_t ra = word(cfa - 8);
    r->sp = cfa;
    r->ip = ra - 1;
    return ra ? STEP_DONE : STEP_OUTERMOST;
}

static enum step by_frame_pointer(struct walk *w, struct registers *r, uint32_t *slot) {
    uintptr_t bp = r->bp;
    if (!bp)
        return STEP_OUTERMOST;
    if (bp < r->sp || bp - r->sp > MAX_GUESSED_FRAME || !stack_readable(&w->stack, bp))
        return STEP_CUT;
    return leave(w, r, bp + 16, 2, slot);
}

static enum step realigned(struct walk *w, struct registers *r, uint32_t offset) {
    uint32_t slot;
    if (!stack_readable(&w->stack, r->bp - offset) || !stack_readable(&w->stack, r->bp))
        return STEP_CUT;
    uintptr_t cfa = word(r->bp - offset), bp = word(r->bp);
    enum step step = leave(w, r, cfa, 0, &slot);
    r->bp = bp;
    return step;
}

/* The interrupted code is somewhere else, perhaps on another stack; its pc is that of an instruction, not of a call. */
static enum step interrupted(struct walk *w, struct registers *r) {
    uintptr_t context = r->sp;
    if (!stack_readable(&w->stack, context + UCONTEXT_IP) || !stack_readable(&w->stack, context + UCONTEXT_BP))
        return STEP_CUT;
    r->bp = word(context + UCONTEXT_BP);
    r->sp = word(context + UCONTEXT_SP);
    r->ip = word(context + UCONTEXT_IP);
    return stack_enter(&w->stack, r->sp) ? STEP_DONE : STEP_CUT;
}

/* libunwind is for one at a time. Nobody waits: a stack that comes while another has it is cut there. */
static enum step rare(struct walk *w, struct registers *r) {
    uintptr_t sp = r->sp;
    if (!walk_rare || exchange_acquire(&process_page->rare, 1u))
        return STEP_CUT;
    int ok = walk_rare(r, readable, w);
    store_release(&process_page->rare, 0u);
    if (!ok)
        return STEP_CUT;
    return r->sp > sp && (r->sp & 7) == 0 ? STEP_DONE : STEP_CUT;
}

/* One frame up. *slot as in struct frame; *meetable is cleared if other words were read than the frame says. */
static enum step step(struct walk *w, struct registers *r, uint32_t rule, uint32_t *slot, int *meetable) {
    *slot = 0;
    if (walk_mode == WALK_FP)
        return by_frame_pointer(w, r, slot);
    switch (rule_kind(rule)) {
    case RULE_SP:
        return leave(w, r, r->sp + rule_cfa(rule), rule_bp_slot(rule), slot);
    case RULE_BP:
        return leave(w, r, r->bp + rule_cfa(rule), rule_bp_slot(rule), slot);
    case RULE_END:
        return STEP_OUTERMOST;
    case RULE_NONE:
        return by_frame_pointer(w, r, slot);
    case RULE_REALIGN:
        *meetable = 0;
        return realigned(w, r, rule_cfa(rule));
    case RULE_SIGNAL:
        *meetable = 0;
        return interrupted(w, r);
    default:
        *meetable = 0;
        return rare(w, r);
    }
}

/* Whether all that was read for the kept frames outside of `at` still holds: 0, or else 1 + the first frame for which it does
 * not, so that none from there on inwards is worth another look. */
static uint32_t changed(const struct walk *w, uint32_t at) {
    const struct stack_range *known = &w->stack.known[w->stack.current];
    const struct frame *f = w->frame;
    if (!at)
        return 0;
    if (f[0].sp > known->high || f[at].sp < known->low)
        return 1;
    uintptr_t bp = f[at].bp;
    for (uint32_t i = at; i-- > 0;) {
        if (word(f[i].sp - 8) != f[i].ip + 1)
            return i + 1;
        if (f[i].bp_slot) {
            if (word(f[i].sp - 8 * f[i].bp_slot) != f[i].bp)
                return i + 1;
            bp = f[i].bp;
        } else if (f[i].bp != bp) {
            return i + 1;
        }
    }
    return 0;
}

/* Walks up from r into w->fresh until the kept walk is met or the stack ends. Returns how many kept frames stay, and sets
 * *fresh to the number of new ones, *barrier to how many of these a later walk can't meet (from the innermost on). */
static uint32_t climb(struct walk *w, struct registers r, uint32_t *fresh, uint32_t *barrier, int *cut) {
    const uint32_t room = 2 * walk_depth;
    uint32_t n = 0, slot = 0, met = w->met;
    int meetable = 1;
    *barrier = 0;
    *cut = 0;
    for (;;) {
        while (met && w->frame[met - 1].sp < r.sp)
            met--;
        const struct frame *k = met ? &w->frame[met - 1] : NULL;
        if (k && k->sp == r.sp && k->ip == r.ip && k->bp == r.bp && n + met <= room) {
            uint32_t bad = changed(w, met - 1);
            if (!bad) {
                *fresh = n;
                *cut = (int)w->cut;
                return met;
            }
            met = bad - 1;
        }
        if (n == room) {
            /* Too deep: keep the inner part, and half of the room for the stack to grow without starting over. */
            *fresh = walk_depth;
            *cut = 1;
            return 0;
        }
        uint32_t pc = rules_find(r.ip);
        w->fresh[n] = (struct frame){.ip = r.ip, .sp = r.sp, .bp = r.bp, .node = pc, .bp_slot = slot};
        n++;
        enum step how = pc ? step(w, &r, segment.pcs[pc].rule, &slot, &meetable) : STEP_CUT;
        if (!meetable) {
            /* Only frames outside of this one can be met by a later walk: those that are to come. */
            *barrier = n;
            meetable = 1;
        }
        if (how != STEP_DONE) {
            *fresh = n;
            *cut = how == STEP_CUT;
            return 0;
        }
    }
}

uint32_t walk_stack(struct walk *w, const struct registers *regs, int *truncated) {
    uint32_t generation = rules_generation();
    if (unlikely(w->generation != generation)) {
        w->kept = w->met = 0;
        w->generation = generation;
    }
    if (!stack_enter(&w->stack, regs->sp)) {
        w->kept = w->met = 0;
        *truncated = 1;
        uint32_t pc = rules_find(regs->ip);
        return pc ? tree_child(tree_truncated(), pc) : 0;
    }
    uint32_t fresh, barrier;
    int cut;
    uint32_t stay = climb(w, *regs, &fresh, &barrier, &cut);
    uint32_t node = stay ? w->frame[stay - 1].node : cut ? tree_truncated() : 0;
    *truncated = cut;
    w->cut = (uint32_t)cut;
    /* While the frames are being replaced, an exit or a longjmp out of a signal handler must not leave a mixture. */
    w->kept = w->met = 0;
    for (uint32_t i = fresh; i-- > 0;) {
        struct frame *f = &w->frame[stay + (fresh - 1 - i)];
        uint32_t pc = w->fresh[i].node;
        node = pc ? tree_child(node, pc) : 0;
        *f = w->fresh[i];
        f->node = node;
        if (!node)
            return 0;
    }
    w->kept = stay + fresh;
    w->met = w->kept - (barrier < fresh ? barrier : fresh);
    return node;
}
