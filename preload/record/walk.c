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

static uint32_t room(void) {
    return 2 * walk_depth;
}

size_t walk_bytes(void) {
    return room() * 2 * sizeof(struct frame) + words_bytes(room());
}

void walk_init(struct walk *w, void *memory) {
    stack_begin(&w->stack);
    w->generation = w->kept = w->met = w->cut = w->walks = 0;
    w->last.ip = 0;
    if (w->known)
        known_forget(w->known);
    w->frame = memory;
    w->fresh = w->frame + room();
    w->words = words_at(w->fresh + room(), room());
}

static uint64_t word(uintptr_t at) {
    return *(const uint64_t *)at;
}

/* 1 if the word at `at`, where the frame ends, may be read. If that is far and unwind tables say so, it leads to another range. */
static int reach(void *walk, uintptr_t at) {
    struct walk *w = walk;
    return stack_readable(&w->stack, at) || (!w->guessed && stack_jump(&w->stack, at));
}

/* The frame that `cfa` is the end of: reads its return address, and rbp if it was saved. */
static enum step leave(struct walk *w, struct registers *r, uintptr_t cfa, uint32_t bp_slot, uint32_t *slot) {
    if (cfa <= r->sp || !reach(w, cfa - 8))
        return STEP_CUT;
    /* In the last instructions of a function rbp is the caller's again, while the tables still say where it was saved: only a
     * signal can meet a frame there. */
    if (bp_slot && w->interrupted && cfa - 8 * bp_slot < r->sp)
        bp_slot = 0;
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
    w->guessed = 1;
    return leave(w, r, bp + 16, 2, slot);
}

static enum step realigned(struct walk *w, struct registers *r, uint32_t offset) {
    uint32_t slot;
    if (!reach(w, r->bp - offset) || !stack_readable(&w->stack, r->bp))
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
    int ok = walk_rare(r, reach, w);
    store_release(&process_page->rare, 0u);
    /* The return address need not have been there, but what follows counts on it that the range reaches up to sp. */
    return ok && r->sp > sp && reach(w, r->sp - 8) ? STEP_DONE : STEP_CUT;
}

/* One frame up. *slot as in struct frame; *meetable is cleared if other words were read than the frame says. */
static enum step step(struct walk *w, struct registers *r, uint32_t packed, uint32_t *slot, int *meetable) {
    struct rule rule = rule_unpack(packed);
    *slot = 0;
    if (walk_mode == WALK_FP)
        return by_frame_pointer(w, r, slot);
    switch (rule.kind) {
    case RULE_SP:
    case RULE_SP_LARGE:
        return leave(w, r, r->sp + rule.cfa, rule.bp_slot, slot);
    case RULE_BP:
        return leave(w, r, r->bp + rule.cfa, rule.bp_slot, slot);
    case RULE_END:
        return STEP_OUTERMOST;
    case RULE_NONE:
        return by_frame_pointer(w, r, slot);
    case RULE_REALIGN:
        *meetable = 0;
        return realigned(w, r, rule.cfa);
    case RULE_SIGNAL:
        *meetable = 0;
        return interrupted(w, r);
    default:
        *meetable = 0;
        return rare(w, r);
    }
}

/* The outermost frame that the given number of single words and pairs do not reach up to. */
static COLD uint32_t frame_beyond(const struct walk *w, struct words_count n) {
    uint32_t i = 0;
    while (w->frame[i].words.ones <= n.ones && w->frame[i].words.pairs <= n.pairs)
        i++;
    return i;
}

/* Whether all that was read for the kept frames outside of `at` still holds: 0, or else 1 + the outermost frame for which it does
 * not, so that none inside of that one is worth another look. Frame `at` is in the same state as it was, so whatever follows
 * from it and the same words is the same too. */
static inline uint32_t changed(const struct walk *w, uint32_t at) {
    const struct stack_range *known = &w->stack.known[w->stack.current];
    if (!at)
        return 0;
    if (unlikely(w->frame[0].sp > known->high) || unlikely(w->frame[at].sp < known->low))
        return 1;
    struct words_count n = w->frame[at - 1].words;
    struct words_count hold = {(uint16_t)words_ones_hold(&w->words, n.ones), (uint16_t)words_pairs_hold(&w->words, n.pairs)};
    if (likely(hold.ones == n.ones && hold.pairs == n.pairs))
        return 0;
    return frame_beyond(w, hold) + 1;
}

/* What a climb found. */
struct climb {
    uint32_t stay;    /* kept frames that stay */
    uint32_t slot;    /* where the innermost one's bp was read now, as in struct frame */
    uint32_t fresh;   /* new ones, in w->fresh */
    uint32_t barrier; /* how many of these a later walk can't meet, from the innermost on */
    int cut;          /* there are more, or may be, that could not be found */
};

/* What is known of an address: from the walk's own few, or by rules_find(). */
static inline const struct recent *look_up(struct walk *w, uintptr_t ip) {
    struct recent *e = &w->recent[ip * 0x9e3779b97f4a7c15ull >> (64 - WALK_RECENT_BITS)];
    if (unlikely(e->ip != ip)) {
        uint32_t pc = rules_find(ip);
        *e = (struct recent){.ip = ip, .pc = pc, .rule = segment.pcs[pc].rule};
    }
    return e;
}

/* One frame up by a rule that takes more than the two of climb(). 0: there is no next one, *cut says why. */
static COLD int uncommon_step(struct walk *w, struct registers *r, const struct recent *e, uint32_t *slot, int *meetable,
                              int *cut) {
    uintptr_t low = w->stack.known[w->stack.current].low;
    enum step how = e->pc ? step(w, r, e->rule, slot, meetable) : STEP_CUT;
    if (w->stack.known[w->stack.current].low != low)
        *meetable = 0; /* words of two ranges are not looked at at once */
    *cut = how == STEP_CUT;
    return how == STEP_DONE;
}

static inline int same_bp(const struct frame *f, uintptr_t bp) {
    return f->bp == bp || !(f->bp_from & FRAME_BP_MATTERS);
}

/* Walks up from `from` into w->fresh until the kept walk is met or the stack ends. The state is in scalars, which stay in
 * registers: each frame waits for the words of the one before. */
static inline struct climb climb(struct walk *w, const struct registers *from) {
    const uint32_t most = room();
    struct climb c = {0};
    struct frame *to = w->fresh;
    uintptr_t ip = from->ip, sp = from->sp, bp = from->bp;
    uintptr_t high = w->stack.known[w->stack.current].high;
    uint32_t n = 0, slot = 0, met = w->met, interrupted = 0;
    const int by_rules = walk_mode == WALK_DWARF;
    w->guessed = 0;
    for (;;) {
        const struct frame *k = w->frame + met;
        while (met && (k - 1)->sp < sp) {
            met--;
            k--;
        }
        if (met && (k - 1)->sp == sp && (k - 1)->ra == ip + 1 && same_bp(k - 1, bp) && n + met <= most) {
            uint32_t bad = changed(w, met - 1);
            if (!bad) {
                c.stay = met;
                c.slot = slot;
                c.cut = (int)w->cut;
                break;
            }
            met = bad - 1;
        }
        if (unlikely(n == most)) {
            /* Too deep: keep the inner part, and half of the room for the stack to grow without starting over. */
            n = walk_depth;
            c.cut = 1;
            break;
        }
        const struct recent *e = look_up(w, ip);
        uint32_t rule = e->rule;
        if (unlikely(!e->pc) && n) {
            /* No room for this address: the frames inside of it are worth keeping. */
            c.cut = 1;
            break;
        }
        to->ra = ip + 1;
        to->sp = sp;
        to->bp = bp;
        to->node = e->pc;
        to->bp_from = (uint16_t)(rule_kind(rule) == RULE_SP && by_rules ? slot : slot | FRAME_BP_MATTERS);
        to++;
        n++;
        /* The two rules that nearly all frames have. */
        slot = rule_bp_slot(rule);
        uintptr_t cfa = (rule_kind(rule) == RULE_SP ? sp : bp) + rule_cfa(rule);
        if (likely(by_rules) && likely(rule_kind(rule) - RULE_SP <= RULE_BP - RULE_SP) && likely(cfa - sp <= high - sp) &&
            likely(cfa != sp) && likely(cfa - sp >= 8ul * slot) && likely(!(cfa & 7)) && likely(word(cfa - 8) != 0)) {
            ip = word(cfa - 8) - 1;
            sp = cfa;
            if (slot)
                bp = word(cfa - 8ul * slot);
            continue;
        }
        struct registers r = {.ip = ip, .sp = sp, .bp = bp};
        int meetable = 1;
        w->interrupted = interrupted == n;
        if (rule_kind(rule) == RULE_SIGNAL)
            interrupted = n + 1;
        int more = uncommon_step(w, &r, e, &slot, &meetable, &c.cut);
        if (!meetable)
            c.barrier = n; /* only frames outside of this one can be met by a later walk */
        if (!more)
            break;
        ip = r.ip;
        sp = r.sp;
        bp = r.bp;
        high = w->stack.known[w->stack.current].high;
    }
    c.fresh = n;
    if (c.barrier > n)
        c.barrier = n;
    return c;
}

/* Notes the words that frame `f` was found by, behind those of the frames outside of it. */
static inline struct words_count note_words(struct walk *w, struct frame *f, struct words_count n) {
    uint32_t slot = f->bp_from & FRAME_BP_MATTERS ? f->bp_from & FRAME_BP_SLOT : 0;
    return f->words = words_add(&w->words, n, f->sp, f->ra, slot, f->bp);
}

/* Puts the fresh frames behind the kept ones that stay; the innermost one's node, or 0 if there is no room for one. */
static inline uint32_t keep(struct walk *w, const struct climb *c, uint32_t node) {
    struct frame *to = w->frame + c->stay;
    struct words_count n = {0, 0};
    uint32_t outer = FRAME_BP_SLOT; /* the outermost frame's bp matters if its own rule says so */
    if (c->stay) {
        /* The frame that was met may have its bp from another place than last time. */
        outer = (to[-1].bp_from & FRAME_BP_MATTERS) | c->slot;
        to[-1].bp_from = (uint16_t)outer;
        n = note_words(w, to - 1, c->stay > 1 ? to[-2].words : n);
    }
    for (const struct frame *from = w->fresh + c->fresh; from-- > w->fresh; to++) {
        if (unlikely(!from->node) || unlikely(!(node = tree_child(node, from->node))))
            return 0;
        to->ra = from->ra;
        to->sp = from->sp;
        to->bp = from->bp;
        to->node = node;
        /* What the frame outside of it did not read from memory it has from this one. */
        to->bp_from = from->bp_from;
        if (!(outer & FRAME_BP_SLOT))
            to->bp_from |= outer & FRAME_BP_MATTERS;
        outer = to->bp_from;
        n = note_words(w, to, n);
    }
    return node;
}

static void forget(struct walk *w) {
    w->last.ip = 0;
    w->kept = w->met = 0;
}

/* A library was unloaded since. */
static COLD void start_over(struct walk *w, uint32_t generation) {
    forget(w);
    if (w->known)
        known_forget(w->known);
    for (unsigned i = 0; i < 1u << WALK_RECENT_BITS; i++)
        w->recent[i].ip = 0;
    w->generation = generation;
}

COLD uint32_t walk_leaf_alone(const struct registers *r) {
    uint32_t pc = rules_find(r->ip);
    return pc ? tree_child(tree_truncated(), pc) : 0;
}

/* Frames that must have been new for the stack to be worth more than the last walk. */
#define WORTH_KNOWING 2
/* Walks of a thread before it gets a known_stacks. */
#define MANY_WALKS 64

/* The kept walk is whole: it can be met at its leaf. */
static inline void now_whole(struct walk *w, const struct registers *leaf, uint32_t node, int worth) {
    w->last = (struct stack_head){.ip = leaf->ip, .sp = leaf->sp, .bp = leaf->bp, .high = w->frame[0].sp,
                                  .any_bp = !(w->frame[w->kept - 1].bp_from & FRAME_BP_MATTERS), .cut = w->cut,
                                  .node = node};
    if (w->kept > 1)
        w->last.words = w->frame[w->kept - 2].words;
    if (worth && (likely(w->known != NULL) || (++w->walks == MANY_WALKS && (w->known = known_make()))))
        known_offer(w->known, &w->last, &w->words);
}

/* Frames larger than this may be no frames: code that goes over to another stack finds its caller's by rbp, too. */
#define SURELY_FRAME 4096ul

/* Of a walk that ends in the thread's own stack and began below what is known of it: how far down its frames lie side by side,
 * small or large. */
static COLD void confirm_stack(struct walk *w) {
    uint32_t i = 0;
    while (++i < w->kept) {
        uintptr_t sp = w->frame[i].sp, above = w->frame[i - 1].sp;
        uint32_t kind = rule_kind(look_up(w, w->frame[i].ra - 1)->rule);
        int is_sure = above - sp <= SURELY_FRAME || (walk_mode == WALK_DWARF && (kind == RULE_SP || kind == RULE_SP_LARGE));
        if (sp >= above || !is_sure || kind == RULE_SIGNAL)
            break;
    }
    stack_confirm(&w->stack, w->frame[i - 1].sp);
}

static inline int may_be_own(const struct walk *w) {
    const struct stack_range *own = &w->stack.known[STACK_OWN];
    return w->kept && w->frame[w->kept - 1].sp < own->low && w->frame[0].sp >= own->low && w->frame[0].sp < own->high;
}

uint32_t walk_stack(struct walk *w, const struct registers *regs, int *truncated) {
    uint32_t generation = rules_generation();
    if (unlikely(w->generation != generation))
        start_over(w, generation);
    if (unlikely(!stack_enter(&w->stack, regs->sp))) {
        *truncated = 1;
        forget(w);
        return walk_leaf_alone(regs);
    }
    /* The very stack of the last walk, as in a loop that allocates, or one of those known: nothing to climb, nothing to keep. */
    uintptr_t readable = w->stack.known[w->stack.current].high;
    const struct stack_head *again = &w->last;
    if (!stack_head_is(again, regs->ip, regs->sp, regs->bp, readable) || !words_hold(&w->words, again->words))
        again = w->known ? known_find(w->known, regs->ip, regs->sp, regs->bp, readable) : NULL;
    if (likely(again != NULL)) {
        *truncated = (int)again->cut;
        return again->node;
    }
    struct climb c = climb(w, regs);
    *truncated = c.cut;
    uint32_t node = c.stay ? w->frame[c.stay - 1].node : c.cut ? tree_truncated() : 0;
    /* While the frames are being replaced, an exit or a longjmp out of a signal handler must not leave a mixture. */
    w->last.ip = 0;
    w->met = 0;
    w->cut = (uint32_t)c.cut;
    __asm__ volatile("" ::: "memory");
    if (c.fresh && !(node = keep(w, &c, node)))
        return 0;
    __asm__ volatile("" ::: "memory");
    w->kept = c.stay + c.fresh;
    w->met = w->kept - c.barrier;
    if (unlikely(w->stack.current != STACK_OWN || c.barrier) && may_be_own(w))
        confirm_stack(w);
    if (!c.barrier)
        now_whole(w, regs, node, c.fresh >= WORTH_KNOWING);
    return node;
}
