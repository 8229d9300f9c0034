/* SPDX-License-Identifier: Apache-2.0 */
#include "preload/record/stack.h"

#include <sys/mman.h>

#include "preload/record/maps.h"
#include "preload/record/memory.h"
#include "preload/record/sys.h"

/* A frame farther away than this from what is known is no frame of this stack (or a gap not worth reading over). */
#define MAX_STEP (8ul << 20)

static int kernel_probes; /* MADV_POPULATE_READ is there */

void stack_init(void) {
    char here;
    uintptr_t page = (uintptr_t)&here & ~MEMORY_PAGE_MASK;
    kernel_probes = sys_madvise((void *)page, MEMORY_PAGE, MADV_POPULATE_READ) == 0;
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

int stack_change(struct stack *s, uintptr_t sp) {
    uintptr_t page = sp & ~MEMORY_PAGE_MASK;
    for (int i = 0; i < 2; i++) {
        struct stack_range *r = &s->known[i];
        if (sp >= r->low && sp < r->high) {
            s->current = i;
            return 1;
        }
        /* The stack has grown, or this is another one just below it; they're one range if all between is readable. */
        if (r->high && page < r->low && r->low - page <= 256 * 1024 && probe(page, r->low)) {
            r->low = page;
            s->current = i;
            return 1;
        }
    }
    if (sp >= (uintptr_t)1 << 47 || !probe(page, page + MEMORY_PAGE))
        return 0;
    s->current = !s->known[0].high ? 0 : s->current ^ 1;
    s->known[s->current] = (struct stack_range){page, page + MEMORY_PAGE};
    return 1;
}

int stack_extend(struct stack *s, uintptr_t limit) {
    struct stack_range *r = &s->known[s->current];
    uintptr_t high = (limit + MEMORY_PAGE_MASK) & ~MEMORY_PAGE_MASK;
    if (limit < r->high || high - r->high > MAX_STEP || high > (uintptr_t)1 << 47 || !probe(r->high, high))
        return 0;
    r->high = high;
    return 1;
}
