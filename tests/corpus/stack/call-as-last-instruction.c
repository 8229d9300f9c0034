/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: wrong line by one / return address minus one (function boundary)
 * Report: https://github.com/MaterializeInc/materialize/pull/22335
 * Symptom: return addresses are looked up unadjusted: a call at a function's end is charged to the function behind it
 * Right: exit 0, stdout "ok". ends_in_call's last instruction is the call of a function that never returns (it
 *     longjmps), so the return address is the first byte of wrong_neighbour. The stacks show ends_in_call, never
 *     wrong_neighbour. (Store return address - 1 as the location address, but not for the frame a signal interrupted,
 *     see 043.)
 *
 * EXPECT timeout 5
 * EXPECT under ends_in_call 100 4500 0 0
 * EXPECT unseen wrong_neighbour
 * EXPECT stack noret_leaf<-ends_in_call<-main
 */
#include "tests/corpus/case.h"

#include <setjmp.h>
#include <stdlib.h>

static jmp_buf jb;

__attribute__((noinline, noclone, used, noreturn)) void noret_leaf(void) {
    void *p = malloc(45);
    KEEP(p);
    free(p);
    longjmp(jb, 1);
}

void ends_in_call(void);
void wrong_neighbour(void);
__asm__(".text\n.p2align 4\n.globl ends_in_call\n.type ends_in_call,@function\nends_in_call:\n.cfi_startproc\nsub "
        "$8,%rsp\n.cfi_adjust_cfa_offset 8\n"
        "call noret_leaf\n.cfi_endproc\n.size ends_in_call,.-ends_in_call\n"
        ".globl wrong_neighbour\n.type "
        "wrong_neighbour,@function\nwrong_neighbour:\n.cfi_startproc\nnop\nret\n.cfi_endproc\n.size "
        "wrong_neighbour,.-wrong_neighbour\n");

int main(void) {
    for (volatile int i = 0; i < 100; i++)
        if (!setjmp(jb))
            ends_in_call();
    wrong_neighbour();
    return say_ok();
}
