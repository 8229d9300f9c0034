/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: stack unwinding (return addresses that lead nowhere)
 * Symptom: a frame chain with return addresses outside of any code, or in data, makes the unwinder read there, or the
 *     profile invalid
 * Right: exit 0, stdout "ok": the chain of frame pointers above an allocating function is forged: small numbers,
 *     addresses of the heap, of unmapped memory, of the middle of a page of data, and non-canonical ones. The profile
 *     is valid.
 *
 * EXPECT func below_forgery 5000 50000 0 0
 */
#include "tests/corpus/case.h"

#include <stdlib.h>
#include <sys/mman.h>

void call_with(void (*f)(void), unsigned long rbp);
__asm__(".text\n.globl call_with\n.type call_with,@function\ncall_with:\n"
        "push %rbp\nmov %rsi,%rbp\nsub $16,%rsp\ncall *%rdi\nadd $16,%rsp\npop %rbp\nret\n"
        ".size call_with,.-call_with\n");

NOINLINE static void below_forgery(void) {
    void *p = malloc(10);
    KEEP(p);
    free(p);
}

int main(void) {
    unsigned long frames[32];
    char *heap = malloc(100), *none = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    const unsigned long forged[] = {1,
                                    2,
                                    0x1000,
                                    (unsigned long)heap,
                                    (unsigned long)none + 5,
                                    (unsigned long)&heap,
                                    ~0ul,
                                    1ul << 63,
                                    0x8000000000000000ul - 1,
                                    (unsigned long)main + 1,
                                    0xffffffffff600000ul};
    for (int i = 0; i < 5000; i++) {
        for (int k = 0; k < 32; k += 2) {
            frames[k] = k < 30 ? (unsigned long)&frames[k + 2] : 0;
            frames[k + 1] = forged[(size_t)(i * 7 + k * (i % 5 + 1)) % (sizeof forged / sizeof *forged)];
        }
        call_with(below_forgery, (unsigned long)frames);
    }
    free(heap);
    return say_ok();
}
