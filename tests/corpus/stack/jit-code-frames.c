/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: stack unwinding through JIT code without unwind info
 * Report: https://github.com/LuaJIT/LuaJIT/issues/748
 * Symptom: a stack with run-time generated code in it makes the heap profiler's unwinder fault
 * Right: exit 0, stdout "ok" within 20 s. Generated code calls back into an allocating function; then its page is
 *     unmapped and other data is mapped at the same address while blocks allocated under it still live (their stacks
 *     name an address that is no code any more). No crash at dump; jit_cb counted exactly.
 *
 * BUILD $CC -pthread $SRC -o $BIN
 * EXPECT timeout 20
 * EXPECT func jit_cb 1000 56000 500 28000
 */
#include "tests/corpus/case.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static void *keep[1000];
static int n;

NOINLINE static void jit_cb(void) {
    void *p = malloc(56);
    KEEP(p);
    keep[n++] = p;
}

/* push rbp; push rbx; sub rsp,0x28; mov rbp,0xdeadbeef0; call rdi; add rsp,0x28; pop rbx; pop rbp; ret */
static const unsigned char code[] = {0x55, 0x53, 0x48, 0x83, 0xec, 0x28, 0x48, 0xbd, 0xf0, 0xee, 0xdb, 0xea, 0x0d,
                                     0,    0,    0,    0xff, 0xd7, 0x48, 0x83, 0xc4, 0x28, 0x5b, 0x5d, 0xc3};

int main(void) {
    for (int r = 0; r < 10; r++) {
        char *m = mmap(NULL, 65536, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (m == MAP_FAILED)
            return 1;
        for (int k = 0; k < 100; k++) {
            char *at = m + k * 600 + (k % 7);
            memcpy(at, code, sizeof code);
            ((void (*)(void (*)(void)))(void *)at)(jit_cb);
        }
        if (r & 1)
            munmap(m, 65536);
        else {
            mmap(m, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
            memset(m, 0x5a, 65536);
        }
    }
    if (n != 1000)
        return 2;
    for (int i = 0; i < 1000; i += 2)
        free(keep[i]);
    return say_ok();
}
