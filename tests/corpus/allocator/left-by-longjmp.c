/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: an allocator of the program that a signal handler leaves by siglongjmp
 * Symptom: what is allocated deeper on the stack later is taken for the allocator's own, and not counted
 * Right: exit 0, stdout "ok": after a jump out of malloc 100 blocks are allocated by functions with large
 *     frames that they do not write to, and each is counted
 *
 * BUILD $CC -shared -fPIC -DLIB -fno-builtin $SRC -o $BIN.so
 * BUILD $CC $SRC -o $BIN $BIN.so -Wl,-rpath,'$ORIGIN'
 * EXPECT func after 100 10000 100 10000
 */
#include "tests/corpus/allocator/interrupted.h"
#include "tests/corpus/case.h"

#include <setjmp.h>

#ifndef LIB
static sigjmp_buf jb;
static void handler(int s) {
    (void)s;
    siglongjmp(jb, 1);
}
NOINLINE static void interrupted(void) {
    char b[2000];
    char *q = b;
    KEEP(q);
    raise_next = 1;
    void *p = malloc(5);
    KEEP(p);
}
NOINLINE static void *after(void) {
    char b[16000];
    char *q = b;
    KEEP(q);
    void *p = malloc(100);
    KEEP(p);
    return p;
}
int main(void) {
    signal(SIGUSR1, handler);
    if (!sigsetjmp(jb, 1))
        interrupted();
    for (int i = 0; i < 100; i++)
        after();
    return say_ok();
}
#endif
