/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: stack unwinding (CFI that is wrong)
 * Symptom: the tables lead to a CFA in unmapped memory, below the frame, at no distance at all, or by an expression
 *     that reads wild addresses
 * Right: exit 0, stdout "ok": eight functions in assembly with such tables call back into an allocating one. Their
 *     stacks end there, without a fault and without end.
 *
 * EXPECT timeout 20
 * EXPECT func below_lies 8000 160000 0 0
 */
#include "tests/corpus/case.h"

#include <stdlib.h>

#define LIE(name, cfi)                                                                                                 \
    void name(void (*f)(void));                                                                                        \
    __asm__(".text\n.globl " #name "\n.type " #name ",@function\n" #name ":\n.cfi_startproc\n"                         \
            "sub $24,%rsp\n.cfi_adjust_cfa_offset 24\n" cfi "call *%rdi\nadd $24,%rsp\nret\n.cfi_endproc\n"            \
            ".size " #name ",.-" #name "\n");
LIE(far_away, ".cfi_def_cfa %rsp, 0x700000\n")
LIE(beyond_reach, ".cfi_def_cfa %rsp, 0x7ffffff8\n")
LIE(no_step, ".cfi_def_cfa %rsp, 0\n")
LIE(misaligned, ".cfi_def_cfa %rsp, 13\n")
LIE(by_rbp, ".cfi_def_cfa %rbp, 16\n.cfi_offset %rbp, -16\n")
LIE(by_rax, ".cfi_def_cfa %rax, 16\n")
/* DW_CFA_def_cfa_expression, 3 bytes: DW_OP_breg6 (rbp) 16, DW_OP_deref. */
LIE(by_expression, ".cfi_escape 0x0f, 3, 0x76, 16, 0x06\n")
/* DW_CFA_expression for the return address: DW_OP_const4u 0x1000, DW_OP_deref. */
LIE(return_address_by_expression, ".cfi_escape 0x10, 16, 6, 0x0c, 0x00, 0x10, 0, 0, 0x06\n")

NOINLINE static void below_lies(void) {
    void *p = malloc(20);
    KEEP(p);
    free(p);
}

int main(void) {
    for (int i = 0; i < 1000; i++) {
        far_away(below_lies);
        beyond_reach(below_lies);
        no_step(below_lies);
        misaligned(below_lies);
        by_rbp(below_lies);
        by_rax(below_lies);
        by_expression(below_lies);
        return_address_by_expression(below_lies);
    }
    return say_ok();
}
