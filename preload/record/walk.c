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
    /* Frame `at` is in the same state as it was, so whatever follows from it and the same words is the same too. */
    for (const struct frame *o = f + at; o-- > f;) {
        if (word(o->sp - 8) != o->ra)
            return (uint32_t)(o - f) + 1;
        if (o->bp_slot && word(o->sp - 8ul * o->bp_slot) != o->bp)
            return (uint32_t)(o - f) + 1;
    }
    return 0;
}

/* What a climb found. */
struct climb {
    uint32_t stay;    /* kept frames that stay */
    uint32_t fresh;   /* new ones, in w->fresh */
    uint32_t barrier; /* how many of these a later walk can't meet, from the innermost on */
    int cut;          /* there are more, or may be, that could not be found */
};

/* The two rules that nearly all frames have. Advances *r and returns 1, or leaves it all to step(). */
static inline int common_step(const struct stack_range *range, struct registers *r, uint32_t rule, uint32_t *slot) {
    uintptr_t cfa = (rule_kind(rule) == RULE_SP ? r->sp : r->bp) + rule_cfa(rule);
    uint32_t bp_slot = rule_bp_slot(rule);
    uintptr_t saved = cfa - 8ul * bp_slot;
    if (rule_kind(rule) - RULE_SP > RULE_BP - RULE_SP || cfa <= r->sp || cfa > range->high || saved < r->sp || (cfa & 7))
        return 0;
    uintptr_t ra = word(cfa - 8);
    if (!ra)
        return 0;
    if (bp_slot)
        r->bp = word(saved);
    r->sp = cfa;
    r->ip = ra - 1;
    *slot = bp_slot;
    return 1;
}

/* Walks up from r into w->fresh until the kept walk is met or the stack ends. */
static inline struct climb climb(struct walk *w, struct registers r) {
    const uint32_t room = 2 * walk_depth;
    struct climb c = {0};
    uint32_t n = 0, slot = 0, met = w->met;
    for (;;) {
        while (met && w->frame[met - 1].sp < r.sp)
            met--;
        const struct frame *k = &w->frame[met - 1];
        if (met && k->sp == r.sp && k->ra == r.ip + 1 && k->bp == r.bp && n + met <= room) {
            uint32_t bad = changed(w, met - 1);
            if (!bad) {
                c.stay = met;
                c.cut = (int)w->cut;
                break;
            }
            met = bad - 1;
        }
        if (unlikely(n == room)) {
            /* Too deep: keep the inner part, and half of the room for the stack to grow without starting over. */
            n = walk_depth;
            c.cut = 1;
            break;
        }
        uint32_t pc = rules_find(r.ip);
        w->fresh[n++] = (struct frame){.ra = r.ip + 1, .sp = r.sp, .bp = r.bp, .node = pc, .bp_slot = slot};
        uint32_t rule = segment.pcs[pc].rule;
        if (likely(walk_mode == WALK_DWARF) && likely(common_step(&w->stack.known[w->stack.current], &r, rule, &slot)))
            continue;
        int meetable = 1;
        enum step how = pc ? step(w, &r, rule, &slot, &meetable) : STEP_CUT;
        if (!meetable)
            c.barrier = n; /* only frames outside of this one can be met by a later walk */
        if (how != STEP_DONE) {
            c.cut = how == STEP_CUT;
            break;
        }
    }
    c.fresh = n;
    if (c.barrier > n)
        c.barrier = n;
    return c;
}

uint32_t walk_stack(struct walk *w, const struct registers *regs, int *truncated) {
    uint32_t generation = rules_generation();
    if (unlikely(w->generation != generation)) {
        w->kept = w->met = 0;
        w->generation = generation;
    }
    if (unlikely(!stack_enter(&w->stack, regs->sp))) {
        w->kept = w->met = 0;
        *truncated = 1;
        uint32_t pc = rules_find(regs->ip);
        return pc ? tree_child(tree_truncated(), pc) : 0;
    }
    struct climb c = climb(w, *regs);
    *truncated = c.cut;
    uint32_t node = c.stay ? w->frame[c.stay - 1].node : c.cut ? tree_truncated() : 0;
    if (!c.fresh) {
        w->kept = w->met = c.stay;
        return node;
    }
    w->cut = (uint32_t)c.cut;
    /* While the frames are being replaced, an exit or a longjmp out of a signal handler must not leave a mixture. */
    w->kept = w->met = 0;
    __asm__ volatile("" ::: "memory");
    struct frame *to = w->frame + c.stay;
    for (const struct frame *from = w->fresh + c.fresh; from-- > w->fresh; to++) {
        node = tree_child(node, from->node);
        if (unlikely(!from->node || !node))
            return 0;
        *to = *from;
        to->node = node;
    }
    __asm__ volatile("" ::: "memory");
    w->kept = c.stay + c.fresh;
    w->met = w->kept - c.barrier;
    return node;
}
