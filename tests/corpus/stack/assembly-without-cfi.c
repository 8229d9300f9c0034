/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: stack unwinding through hand-written assembly without unwind info
 * Report: https://github.com/libunwind/libunwind/issues/581
 * Symptom: odd stack frames of assembly code (no unwind info, frame pointer used as scratch) crash the unwinder
 * Right: exit 0, stdout "ok". asm_bridge has no CFI at all, moves the stack by an amount no prologue shows and calls
 *     back with rbp = 0x1000, then an address in an unreadable page, a misaligned one, and a non-canonical one. Each
 *     callback's allocation is counted; its stack holds asm_cb, and may end there.
 *
 * EXPECT timeout 10
 * EXPECT func asm_cb 400 12800 0 0
 */
#include "tests/corpus/case.h"

#include <stdlib.h>
#include <sys/mman.h>

void asm_bridge(void (*f)(void), unsigned long rbp);
__asm__(".text\n.globl asm_bridge\n.type asm_bridge,@function\nasm_bridge:\n"
        "push %rbp\npush %rbx\nsub $0x138,%rsp\nmov %rsi,%rbp\ncall *%rdi\nadd $0x138,%rsp\npop %rbx\npop "
        "%rbp\nret\n.size asm_bridge,.-asm_bridge\n");

NOINLINE static void asm_cb(void) {
    void *p = malloc(32);
    KEEP(p);
    free(p);
}

int main(void) {
    char *none = mmap(NULL, 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    unsigned long v[4] = {0x1000, (unsigned long)none + 4096, (unsigned long)&none + 3, 0x8000000000000010ul};
    for (int i = 0; i < 100; i++)
        for (int k = 0; k < 4; k++)
            asm_bridge(asm_cb, v[k]);
    return say_ok();
}
