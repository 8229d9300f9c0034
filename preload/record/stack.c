/* SPDX-License-Identifier: Apache-2.0 */
#include "preload/record/stack.h"

#include <sys/mman.h>

#include "preload/record/maps.h"
#include "preload/record/memory.h"
#include "preload/record/sys.h"

/* A frame farther away than this from what is known is no frame of this stack (or a gap not worth reading over). */
#define MAX_STEP (8ul << 20)

/* Of another stack that was known, as much is asked about at once. */
#define MAX_KNOWN (256ul << 10)

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
    *s = (struct stack){.anchor = pointer == main_thread ? main_anchor : pointer};
}

static int probe_by_maps(uintptr_t from, uintptr_t to) {
    struct maps_buffer *buffer = memory_map(sizeof *buffer);
    struct maps_entry e;
    int ok = buffer != NULL;
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
    return probe(at & ~MEMORY_PAGE_MASK, (at + len + MEMORY_PAGE_MASK) & ~MEMORY_PAGE_MASK);
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

int stack_change(struct stack *s, uintptr_t sp) {
    uintptr_t page = sp & ~MEMORY_PAGE_MASK;
    struct stack_range *own = &s->known[STACK_OWN];
    if (sp >= (uintptr_t)1 << 47)
        return 0;
    /* The thread's own: all is readable from here to what is known of it, or to the anchor. */
    uintptr_t above = own->high ? own->low : (s->anchor + MEMORY_PAGE_MASK) & ~MEMORY_PAGE_MASK;
    if (page < above && above - page <= MAX_STEP && probe(page, above)) {
        own->low = page;
        if (!own->high)
            own->high = above;
        s->current = STACK_OWN;
        return 1;
    }
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

int stack_extend(struct stack *s, uintptr_t limit) {
    struct stack_range *r = &s->known[s->current];
    uintptr_t high = (limit + MEMORY_PAGE_MASK) & ~MEMORY_PAGE_MASK;
    if (limit < r->high || high - r->high > MAX_STEP || high > (uintptr_t)1 << 47 || !probe(r->high, high))
        return 0;
    r->high = high;
    return 1;
}
