/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: stack unwinding (a stack without end)
 * Symptom: frame pointers in a circle, or a return address that leads to the same frame again, keep the walk going for
 *     ever
 * Right: exit 0, stdout "ok" at once: rbp points to itself, to a circle of three, and to a chain of 100000 frames; what
 *     allocates there is counted, the rest is cut.
 *
 * EXPECT timeout 20
 * EXPECT func below_circle 3000 30000 0 0
 */
#include "tests/corpus/case.h"

#include <stdlib.h>

void call_with(void (*f)(void), unsigned long rbp);
__asm__(".text\n.globl call_with\n.type call_with,@function\ncall_with:\n"
        "push %rbp\nmov %rsi,%rbp\nsub $16,%rsp\ncall *%rdi\nadd $16,%rsp\npop %rbp\nret\n"
        ".size call_with,.-call_with\n");

NOINLINE static void below_circle(void) {
    void *p = malloc(10);
    KEEP(p);
    free(p);
}

NOINLINE static void with_chain(void) {
    unsigned long frames[2 * 100000];
    for (int i = 0; i < 100000; i++) {
        frames[2 * i] = i < 99999 ? (unsigned long)&frames[2 * i + 2] : 0;
        frames[2 * i + 1] = (unsigned long)call_with + 1;
    }
    for (int i = 0; i < 1000; i++)
        call_with(below_circle, (unsigned long)frames);
}

int main(void) {
    unsigned long self[2] = {(unsigned long)self, (unsigned long)call_with + 1};
    unsigned long circle[6] = {(unsigned long)&circle[2], (unsigned long)call_with + 1,
                               (unsigned long)&circle[4], (unsigned long)call_with + 1,
                               (unsigned long)circle,     (unsigned long)call_with + 1};
    for (int i = 0; i < 1000; i++) {
        call_with(below_circle, (unsigned long)self);
        call_with(below_circle, (unsigned long)circle);
    }
    with_chain();
    return say_ok();
}
