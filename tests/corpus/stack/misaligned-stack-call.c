/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: stack unwinding / hand-written assembly (call with a misaligned stack)
 * Report: https://github.com/alliedmodders/sourcepawn/pull/78
 * Symptom: code reached with a stack that is off by 8 dies on an aligned SSE store that used not to be there
 * Right: exit 0, stdout "ok". A stub calls malloc(24) and free with rsp = 8 mod 16, against the ABI. glibc's fast path
 *     takes that without complaint, so programs exist that do it. The hook's entry should realign
 *     (force_align_arg_pointer) rather than die in movaps.
 *
 * EXPECT timeout 5
 * EXPECT under via_stub 1000 24000 0 0
 */
#include "tests/corpus/case.h"

#include <stdlib.h>

void *off_by_8(void *(*f)(size_t), size_t n);
__asm__(".text\n.globl off_by_8\n.type off_by_8,@function\noff_by_8:\n.cfi_startproc\nmov %rdi,%rax\nmov "
        "%rsi,%rdi\nsub $16,%rsp\n.cfi_adjust_cfa_offset 16\n"
        "call *%rax\nadd $16,%rsp\n.cfi_adjust_cfa_offset -16\nret\n.cfi_endproc\n.size off_by_8,.-off_by_8\n");

NOINLINE static void *via_stub(void) {
    void *p = off_by_8(malloc, 24);
    KEEP(p);
    return p;
}

int main(void) {
    void *warm = malloc(24);
    KEEP(warm);
    free(warm); /* glibc's own set-up done with a proper stack */
    for (int i = 0; i < 1000; i++) {
        void *p = via_stub();
        off_by_8((void *(*)(size_t))(void *)free, (size_t)p);
    }
    return say_ok();
}
