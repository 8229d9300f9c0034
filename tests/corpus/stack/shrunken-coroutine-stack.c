/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: coroutines (a stack replaced by a smaller one at its address)
 * Symptom: the readable part of a stack is remembered; the program has taken it back since, and the walk reads there
 * Right: exit 0, stdout "ok": code without unwind tables, with rbp pointing into what was the upper part of the last
 *     coroutine's stack, allocates on a smaller stack at the same address. The upper part is not readable any more.
 *
 * EXPECT func deep_on_large 600 18000 0 0
 * EXPECT func flat_on_large 600 18000 0 0
 * EXPECT func on_small 300 6000 0 0
 */
#include "tests/corpus/case.h"

#include <stdlib.h>
#include <sys/mman.h>

#define LARGE (256ul << 10)
#define SMALL (64ul << 10)

/* Calls f with the stack pointer at `top` and rbp at `bp`; nothing tells an unwinder how to get back. */
void switch_to(void (*f)(void), char *top, char *bp);
__asm__(".text\n.globl switch_to\n.type switch_to,@function\nswitch_to:\n"
        "push %rbp\npush %rbx\nmov %rsp,%rbx\nmov %rsi,%rsp\nmov %rdx,%rbp\ncall *%rdi\n"
        "mov %rbx,%rsp\npop %rbx\npop %rbp\nret\n.size switch_to,.-switch_to\n");

NOINLINE static void *deep_on_large(int depth) {
    void *p = depth ? deep_on_large(depth - 1) : malloc(30);
    KEEP(p);
    return p;
}

NOINLINE static void *flat_on_large(void) {
    void *p = malloc(30);
    KEEP(p);
    return p;
}

NOINLINE static void on_large(void) {
    free(flat_on_large());
    free(deep_on_large(100));
}

NOINLINE static void on_small(void) {
    void *p = malloc(20);
    KEEP(p);
    free(p);
}

int main(void) {
    char *at = mmap(NULL, LARGE + 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED)
        return 1;
    for (int i = 0; i < 300; i++) {
        if (mprotect(at, LARGE, PROT_READ | PROT_WRITE))
            return 2;
        char *chain = at + LARGE - 4096;
        ((char **)chain)[0] = NULL;
        ((char **)chain)[1] = (char *)main;
        switch_to(on_large, at + SMALL - 8192, at + SMALL + 1024);
        switch_to(on_large, at + LARGE - 8192, chain);
        if (mprotect(at + SMALL, LARGE - SMALL, PROT_NONE))
            return 3;
        switch_to(on_small, at + SMALL - 4096 - 16 * (size_t)(i % 8), at + SMALL + 2048 + 16 * (size_t)(i % 64));
        mprotect(at, LARGE, PROT_NONE);
    }
    return say_ok();
}
