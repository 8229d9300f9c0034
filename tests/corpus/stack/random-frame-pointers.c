/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: stack unwinding (rbp holds anything)
 * Symptom: code built without frame pointers keeps numbers in rbp, and what follows it reads wild addresses
 * Right: exit 0, stdout "ok": from code without unwind tables an allocating function is called 20000 times, with rbp
 *     random: near the stack pointer, on the heap, in code, in unmapped memory, at the ends of the address space,
 *     misaligned, and pointing to words that point on.
 *
 * EXPECT func with_any_rbp 20000 320000 0 0
 */
#include "tests/corpus/case.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

void call_with(void (*f)(void), unsigned long rbp);
__asm__(".text\n.globl call_with\n.type call_with,@function\ncall_with:\n"
        "push %rbp\npush %rbx\nsub $0x88,%rsp\nmov %rsi,%rbp\ncall *%rdi\nadd $0x88,%rsp\npop %rbx\npop %rbp\nret\n"
        ".size call_with,.-call_with\n");

NOINLINE static void with_any_rbp(void) {
    void *p = malloc(16);
    KEEP(p);
    free(p);
}

int main(void) {
    unsigned long chain[64], state = 88172645463325252ul, gap;
    char *heap = malloc(4096), *none = mmap(NULL, 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (!heap || none == MAP_FAILED)
        return 1;
    memset(heap, 0x41, 4096);
    gap = (unsigned long)none;
    for (int i = 0; i < 20000; i++) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        for (int k = 0; k < 64; k++)
            chain[k] = k % 2 ? (unsigned long)main + state % 64 : (unsigned long)&chain[(k + 2 + state % 5) % 64];
        const unsigned long targets[] = {
            (unsigned long)&chain[state % 64],
            (unsigned long)chain - state % 4096,
            (unsigned long)chain + state % 65536,
            (unsigned long)heap + state % 4096,
            (unsigned long)main + state % 4096,
            gap + state % 8192,
            state,
            ~0ul - state % 64,
            0x7ffffffff000ul - 16 + state % 32,
            state % 4096,
            1ul << 47 | state % 4096,
            (unsigned long)chain | (state & 7),
        };
        call_with(with_any_rbp, targets[state % (sizeof targets / sizeof *targets)]);
    }
    free(heap);
    return say_ok();
}
