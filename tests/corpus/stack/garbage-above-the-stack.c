/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: stacks of the program's own (switched to by hand, in a block from malloc)
 * Symptom: where unwind tables end, a tool that searches the stack for return addresses finds those of calls long past
 * Right: exit 0, stdout "ok": code switches to 16 KiB from malloc whose upper part is full of addresses of functions;
 *     what allocates there is counted, and never appears under a function that did not call it.
 *
 * EXPECT func on_block 1000 15000 0 0
 * EXPECT unseen never_a_caller
 */
#include "tests/corpus/case.h"

#include <stdlib.h>

#define SIZE 16384

void switch_to(void (*f)(void), char *top);
__asm__(".text\n.globl switch_to\n.type switch_to,@function\nswitch_to:\n"
        "push %rbp\npush %rbx\nmov %rsp,%rbx\nmov %rsi,%rsp\nxor %ebp,%ebp\ncall *%rdi\n"
        "mov %rbx,%rsp\npop %rbx\npop %rbp\nret\n.size switch_to,.-switch_to\n");

__attribute__((noinline, used)) static int never_a_caller(int n) {
    KEEP(n);
    return n + 1;
}

NOINLINE static void on_block(void) {
    void *p = malloc(15);
    KEEP(p);
    free(p);
}

int main(void) {
    unsigned long *block = malloc(SIZE);
    if (!block)
        return 1;
    for (int i = 0; i < 1000; i++) {
        for (size_t k = 0; k < SIZE / sizeof *block; k++)
            block[k] = (unsigned long)never_a_caller + k % 8;
        switch_to(on_block, (char *)block + SIZE / 2 - 16 * (i % 16));
    }
    free(block);
    return say_ok();
}
