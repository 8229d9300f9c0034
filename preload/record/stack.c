/* SPDX-License-Identifier: Apache-2.0 */
#include "preload/record/stack.h"

#include <sys/mman.h>

#include "preload/record/maps.h"
#include "preload/record/memory.h"
#include "preload/record/sys.h"

/* A range is extended over no more than this: the kernel looks at each page between, and will again for the next sample. */
#define MAX_STEP (8ul << 20)

/* The own one is, since it is asked about once, where it is known what lies between: frames, or the rest of the main thread's stack,
 * below which the kernel keeps 128 MiB free of other mappings. What the program has not touched yet takes page tables alone. */
#define MAX_OWN_STEP (64ul << 20)

/* No frame is larger. */
#define MAX_JUMP (1ul << 30)

/* Of another stack that was known, as much is asked about at once. */
#define MAX_KNOWN (256ul << 10)

/* What is surely stack below a thread's pointer: no thread has less than 16 KiB (PTHREAD_STACK_MIN), of which libc's own record
 * above the pointer takes less than a page. */
#define LEAST_OWN (12ul << 10)

static int kernel_probes; /* MADV_POPULATE_READ is there */
static uintptr_t main_thread, main_anchor;

static uintptr_t thread_pointer(void) {
    uintptr_t fs;
    __asm__("mov %%fs:0, %0" : "=r"(fs));
    return fs;
}

void stack_init(uintptr_t on_main_stack) {
    char here;
    uintptr_t page = (uintptr_t)&here & ~MEMORY_PAGE_MASK;
    kernel_probes = sys_madvise((void *)page, MEMORY_PAGE, MADV_POPULATE_READ) == 0;
    main_thread = thread_pointer();
    main_anchor = on_main_stack;
}

/* libc puts what the thread pointer points to at the upper end of a thread's stack. */
void stack_begin(struct stack *s) {
    uintptr_t pointer = thread_pointer();
    int is_main = pointer == main_thread;
    *s = (struct stack){.anchor = is_main ? main_anchor : pointer, .is_main = is_main};
}

static uintptr_t page_up(uintptr_t at) {
    return (at + MEMORY_PAGE_MASK) & ~MEMORY_PAGE_MASK;
}

static int probe_by_maps(uintptr_t from, uintptr_t to) {
    struct maps_buffer *buffer = memory_map(sizeof *buffer);
    struct maps_entry e;
    /* The buffer itself may have come to lie in what is asked about. */
    int ok = buffer != NULL && ((uintptr_t)buffer >= to || (uintptr_t)buffer + sizeof *buffer <= from);
    while (ok && from < to) {
        ok = maps_find(from, &e, buffer) && e.readable;
        from = e.limit;
    }
    if (buffer)
        memory_unmap(buffer, sizeof *buffer);
    return ok;
}

static int probe(uintptr_t from, uintptr_t to) {
    if (kernel_probes)
        return sys_madvise((void *)from, to - from, MADV_POPULATE_READ) == 0;
    return probe_by_maps(from, to);
}

int stack_probe(uintptr_t at, size_t len) {
    if (at + len < at || at + len > (uintptr_t)1 << 47)
        return 0;
    return probe(at & ~MEMORY_PAGE_MASK, page_up(at + len));
}

/* The nearest end, not too far above sp, of another stack that was known; 0: none. */
static int other_above(const struct stack *s, uintptr_t sp) {
    int found = 0;
    for (int i = STACK_OTHER; i < STACK_OTHER + STACK_OTHERS; i++)
        if (s->known[i].high > sp && s->known[i].high - sp <= MAX_KNOWN &&
            (!found || s->known[i].high < s->known[found].high))
            found = i;
    return found;
}

/* The main thread's stack is a mapping of its own, with nothing else near: what is readable from here to what is known of it,
 * or to the anchor, is part of it. */
static int grow_main(struct stack *s, uintptr_t page) {
    struct stack_range *own = &s->known[STACK_OWN];
    uintptr_t above = own->high ? own->low : page_up(s->anchor);
    if (page >= above || above - page > MAX_OWN_STEP || !probe(page, above))
        return 0;
    own->low = page;
    if (!own->high)
        own->high = above;
    s->current = STACK_OWN;
    return 1;
}

/* Other threads' may have anything right below, in the same mapping: stacks of coroutines, that go while the thread stays. What
 * is there is not theirs until frames say so (stack_confirm), and is asked about each time. */
static int below_own(struct stack *s, uintptr_t sp) {
    struct stack_range *own = &s->known[STACK_OWN];
    uintptr_t low = page_up(s->anchor - LEAST_OWN), high = page_up(s->anchor), page = sp & ~MEMORY_PAGE_MASK;
    if (!own->high && page < high && high - page <= MAX_STEP && probe(low, high))
        *own = (struct stack_range){low, high};
    s->current = STACK_OWN;
    if (sp >= own->low && sp < own->high)
        return 1;
    if (page >= own->low || own->low - page > MAX_KNOWN || !probe(page, own->low))
        return 0;
    s->known[STACK_BELOW] = (struct stack_range){page, own->high};
    s->current = STACK_BELOW;
    return 1;
}

int stack_change(struct stack *s, uintptr_t sp) {
    uintptr_t page = sp & ~MEMORY_PAGE_MASK;
    if (sp >= (uintptr_t)1 << 47)
        return 0;
    if (s->is_main ? grow_main(s, page) : below_own(s, sp))
        return 1;
    int other = other_above(s, sp);
    if (other && probe(page, s->known[other].high)) {
        s->known[other].low = page;
        s->current = other;
        return 1;
    }
    if (!other) {
        other = STACK_OTHER + s->oldest;
        s->oldest = (s->oldest + 1) % STACK_OTHERS;
    }
    s->current = other;
    s->known[other] = (struct stack_range){page, page + MEMORY_PAGE};
    if (probe(page, page + MEMORY_PAGE))
        return 1;
    s->known[other] = (struct stack_range){0};
    return 0;
}

void stack_confirm(struct stack *s, uintptr_t sp) {
    struct stack_range *own = &s->known[STACK_OWN], *r = &s->known[s->current];
    uintptr_t page = sp & ~MEMORY_PAGE_MASK;
    if (page >= own->low)
        return;
    int is_known = page >= r->low && r->high >= own->low;
    if (is_known || (own->low - page <= MAX_OWN_STEP && probe(page, own->low)))
        own->low = page;
}

int stack_extend(struct stack *s, uintptr_t limit) {
    struct stack_range *r = &s->known[s->current];
    uintptr_t high = page_up(limit);
    if (limit < r->high || high - r->high > MAX_STEP || high > (uintptr_t)1 << 47 || !probe(r->high, high))
        return 0;
    r->high = high;
    return 1;
}

int stack_jump(struct stack *s, uintptr_t at) {
    int before = s->current;
    uintptr_t high = s->known[before].high;
    if (at < high || at - high < MAX_STEP || at - high > MAX_JUMP)
        return 0;
    /* The frame that is so large has all of the page below; code that came here from another stack may not. */
    if ((stack_enter(s, at - MEMORY_PAGE) || stack_enter(s, at)) && stack_readable(s, at))
        return 1;
    s->current = before;
    return 0;
}
