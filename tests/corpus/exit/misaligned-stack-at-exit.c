/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: exit paths (exit, _exit, fork and dlclose with a stack that is off by 8)
 * Symptom: the tool's last work is compiled for an aligned stack, and dies on it
 * Right: exit 4, stdout "ok": a child ends by _exit, another by exit, and so does the program, called with rsp = 8 mod
 *     16, against the ABI but to libc's satisfaction. Three profiles.
 *
 * EXPECT exit 4
 * EXPECT profiles 3
 * EXPECT func before_misaligned 100 1800 100 1800
 */
#include "tests/corpus/case.h"

#include <stdlib.h>
#include <sys/wait.h>

long off_by_8(long (*f)(long), long argument);
__asm__(".text\n.globl off_by_8\n.type off_by_8,@function\noff_by_8:\n.cfi_startproc\nmov %rdi,%rax\nmov %rsi,%rdi\n"
        "sub $16,%rsp\n.cfi_adjust_cfa_offset 16\ncall *%rax\nadd $16,%rsp\n.cfi_adjust_cfa_offset -16\nret\n"
        ".cfi_endproc\n.size off_by_8,.-off_by_8\n");

static void *held[100];

NOINLINE static void *before_misaligned(void) {
    void *p = malloc(18);
    KEEP(p);
    return p;
}

static int ends_with(void (*how)(int), int code) {
    int status;
    pid_t child = fork();
    if (child == 0)
        off_by_8((long (*)(long))(void *)how, code);
    return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == code;
}

int main(void) {
    for (int i = 0; i < 100; i++)
        held[i] = before_misaligned();
    if (!ends_with(_exit, 6) || !ends_with(exit, 7) || say_ok())
        return 1;
    off_by_8((long (*)(long))(void *)exit, 4);
}
