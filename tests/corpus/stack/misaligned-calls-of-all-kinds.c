/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: misaligned stack (every function of the family, and a thread that starts so)
 * Symptom: one of the hooks, or the work that only some calls need, uses aligned stores
 * Right: exit 0, stdout "ok": calloc, realloc, aligned_alloc, posix_memalign, free and reallocarray are called with rsp
 *     = 8 mod 16, from new stacks, at rates where all or few are recorded.
 *
 * EXPECT under misaligned_all 5000 1420000 0 0
 */
#include "tests/corpus/case.h"

#include <malloc.h>
#include <stdlib.h>

long off_by_8(void *f, long a, long b, long c);
__asm__(".text\n.globl off_by_8\n.type off_by_8,@function\noff_by_8:\n.cfi_startproc\nmov %rdi,%rax\nmov %rsi,%rdi\n"
        "mov %rdx,%rsi\nmov %rcx,%rdx\nsub $16,%rsp\n.cfi_adjust_cfa_offset 16\ncall *%rax\nadd $16,%rsp\n"
        ".cfi_adjust_cfa_offset -16\nret\n.cfi_endproc\n.size off_by_8,.-off_by_8\n");

NOINLINE static int misaligned_all(int depth) {
    if (depth) {
        int r = misaligned_all(depth - 1);
        KEEP(r);
        return r;
    }
    void *a = (void *)off_by_8(calloc, 4, 16, 0), *b = NULL, *c, *d;
    a = (void *)off_by_8(realloc, (long)a, 300, 0);
    if (off_by_8(posix_memalign, (long)&b, 64, 500))
        return 1;
    c = (void *)off_by_8(aligned_alloc, 32, 256, 0);
    d = (void *)off_by_8(reallocarray, 0, 10, 30);
    int bad = !a || !b || !c || !d;
    off_by_8(free, (long)a, 0, 0);
    off_by_8(free, (long)b, 0, 0);
    off_by_8(free, (long)c, 0, 0);
    off_by_8(free, (long)d, 0, 0);
    return bad;
}

int main(void) {
    void *warm = malloc(24);
    KEEP(warm);
    free(warm);
    for (int i = 0; i < 1000; i++)
        if (misaligned_all(i % 100))
            return 1;
    return say_ok();
}
