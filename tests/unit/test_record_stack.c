/* SPDX-License-Identifier: Apache-2.0 */
/* What a walk may read: large frames, whose memory is not asked about, and what becomes part of a thread's own stack. */
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "preload/record/memory.h"
#include "preload/record/stack.h"
#include "tests/unit/tap.h"

#define MIB (1ul << 20)
#define SPACE (1200 * MIB)

static uintptr_t space;

static void make_readable(uintptr_t at, size_t len, int yes) {
    if (mprotect((void *)at, len, yes ? PROT_READ | PROT_WRITE : PROT_NONE))
        abort();
}

/* A walk that is at the start of `space`, of which one page is readable, and another is `distance` away. */
static struct stack at_start(uintptr_t distance) {
    struct stack s;
    make_readable(space, SPACE, 0);
    make_readable(space, MEMORY_PAGE, 1);
    make_readable(space + distance, MEMORY_PAGE, 1);
    stack_begin(&s);
    ok(stack_enter(&s, space + 64) && s.known[s.current].high == space + MEMORY_PAGE, "at the start");
    return s;
}

static int is_back(const struct stack *s) {
    const struct stack_range *r = &s->known[s->current];
    return r->low == space && r->high == space + MEMORY_PAGE;
}

static int covers(const struct stack *s, uintptr_t low, uintptr_t high) {
    const struct stack_range *r = &s->known[s->current];
    return r->low == low && r->high == high;
}

static void test_jump(void) {
    uintptr_t far = 100 * MIB, at = space + far;
    struct stack s = at_start(far);
    ok(stack_jump(&s, at) && covers(&s, at, at + MEMORY_PAGE), "over what can't be read, to the first word of a page");
    s = at_start(far);
    ok(stack_jump(&s, at + 4088) && covers(&s, at, at + MEMORY_PAGE), "to its last");
    s = at_start(far);
    make_readable(at - MEMORY_PAGE, MEMORY_PAGE, 1);
    ok(stack_jump(&s, at + 64) && covers(&s, at - MEMORY_PAGE, at + MEMORY_PAGE), "with the page below");
    s = at_start(far);
    ok(!stack_jump(&s, at + 4096) && is_back(&s), "a word that can't be read");
    ok(!stack_jump(&s, at + 4092) && is_back(&s), "half a word");
    ok(!stack_jump(&s, at - 8) && is_back(&s), "nor one below");
    ok(!stack_jump(&s, space + 64) && is_back(&s), "downwards");
    ok(!stack_jump(&s, UINTPTR_MAX - 7) && is_back(&s), "at the end of all memory");
    s = at_start(8 * MIB);
    ok(!stack_jump(&s, space + 8 * MIB + 64) && is_back(&s), "so near that all between has to be readable");
    s = at_start(1100 * MIB);
    ok(!stack_jump(&s, space + 1100 * MIB) && is_back(&s), "farther than any frame is large");
}

struct own {
    size_t hole, depth; /* bytes below the top */
    int grows;
};

/* In a thread on a stack of ours. Some page in the middle may not be readable. */
static void *confirm(void *arg) {
    const struct own *own = arg;
    struct stack s;
    char here;
    stack_begin(&s);
    int entered = stack_enter(&s, (uintptr_t)&here);
    uintptr_t before = s.known[STACK_OWN].low, target = space + SPACE - own->depth;
    if (own->hole)
        make_readable(space + SPACE - own->hole, MEMORY_PAGE, 0);
    stack_confirm(&s, target + 64);
    is((int64_t)s.known[STACK_OWN].low, (int64_t)(own->grows ? target : before), "what is known of the own stack");
    return entered ? arg : NULL;
}

static void test_own(void) {
    static const struct own cases[] = {{0, 20 * MIB, 1}, {0, 60 * MIB, 1}, {0, 100 * MIB, 0}, {10 * MIB, 20 * MIB, 0}};
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        pthread_attr_t attributes;
        pthread_t thread;
        void *result = NULL;
        make_readable(space, SPACE, 1);
        pthread_attr_init(&attributes);
        pthread_attr_setstack(&attributes, (void *)space, SPACE);
        int created = !pthread_create(&thread, &attributes, confirm, (void *)&cases[i]);
        ok(created && !pthread_join(thread, &result) && result, "a thread, %zu MiB deep", cases[i].depth / MIB);
    }
}

int main(void) {
    stack_init((uintptr_t)__builtin_frame_address(0));
    void *at = mmap(NULL, SPACE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED)
        abort();
    space = (uintptr_t)at;
    test_jump();
    test_own();
    return tap_done();
}
