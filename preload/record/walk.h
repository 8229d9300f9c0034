/* SPDX-License-Identifier: Apache-2.0 */
/* From the registers of the code that called malloc to a node of the call tree.
 *
 * A walk is kept from one sample of the thread to the next. The new one goes up from the leaf by rules (rules.h) until it
 * meets a frame of the kept one in the same state: same address, stack pointer and frame pointer. What lies above is a
 * function of that state and of the words that were read on the way; so if those words still hold what they held, it is
 * the same stack, and each kept frame's tree node is taken as it is. Those loads don't depend on each other, so an
 * unchanged stack costs under a nanosecond a frame. Nothing is guessed.
 *
 * Frames whose way up reads other words than those (signals, realigned stacks, libunwind's) end the part that can be met.
 *
 * Runs in any thread and in signal handlers; each level of interruption has a walk of its own (thread.h). */
#ifndef CPROF_RECORD_WALK_H
#define CPROF_RECORD_WALK_H

#include <stdint.h>

#include "preload/record/known.h"
#include "preload/record/stack.h"

/* Registers in the caller's frame, as they are after the call returns. */
struct registers {
    uintptr_t ip; /* an address inside the call: the return address - 1 */
    uintptr_t sp;
    uintptr_t bp;
};

enum {
    FRAME_BP_SLOT = 511,
    FRAME_BP_MATTERS = 1 << 15, /* some frame further out is found by this bp; otherwise it is any value that was in rbp */
};
struct frame {
    uintptr_t ra;     /* ip + 1: the word that was read at sp - 8, unless a signal interrupted the frame */
    uintptr_t sp, bp; /* state in this frame */
    uint32_t node;    /* of the call tree */
    uint16_t bp_from; /* bp was read at sp - 8 * (bp_from & FRAME_BP_SLOT); 0 there: it is that of the frame below */
    struct words_count words; /* those that this kept frame and all outside of it were found by */
};

/* What is known of an address (rules.h), where it costs one load to see. */
struct recent {
    uintptr_t ip;
    uint32_t pc;
    uint32_t rule;
};
#define WALK_RECENT_BITS 9

struct walk {
    struct stack stack;
    uint32_t generation; /* of the rules that all below was found by */
    uint32_t kept;       /* frames in `frame`, outermost first */
    uint32_t met;        /* how many of them, from the outermost on, may be met again */
    uint32_t interrupted; /* the frame that the walk is at was interrupted by a signal */
    uint32_t guessed;     /* some frame of the walk under way was found by a frame pointer that nothing vouches for */
    uint32_t cut;        /* the kept walk does not start at the outermost frame */
    uint32_t walks;      /* that known stacks would have been of use for, until there are any */
    struct stack_head last;     /* the kept walk, if all of its frames may be met again */
    struct words words;         /* of the kept frames, outermost first */
    struct known_stacks *known; /* NULL: not yet, or there will be none */
    struct frame *frame; /* room for 2 * walk_depth of them */
    struct frame *fresh; /* the same, for the walk under way; innermost first, `node` being the pc */
    struct recent recent[1u << WALK_RECENT_BITS];
};

/* How the next frame is found. */
enum walk_mode { WALK_DWARF, WALK_FP };
extern enum walk_mode walk_mode HIDDEN;
extern uint32_t walk_depth HIDDEN; /* most frames that a profile shows: CPROF_DEPTH */

/* Rare shapes are asked of libunwind: replaces *r by the caller's registers (ip as above). 1: done; 0: outermost frame, or
 * it can't be done. `readable` tells which words may be looked at. Set by the backend; NULL: such a frame ends the walk. */
extern int (*walk_rare)(struct registers *r, int (*readable)(void *ctx, uintptr_t at), void *ctx) HIDDEN;

/* Bytes that a walk's two arrays take. */
size_t walk_bytes(void);
void walk_init(struct walk *w, void *memory);

/* Node of the stack that `r` is the innermost frame of; 0 if there was no room for it. *truncated is set to 1 if frames
 * are missing at the outer end. */
uint32_t walk_stack(struct walk *w, const struct registers *r, int *truncated);

/* Node of the innermost frame alone, where no more can be found; 0 if there was no room for it. */
uint32_t walk_leaf_alone(const struct registers *r);

#endif
