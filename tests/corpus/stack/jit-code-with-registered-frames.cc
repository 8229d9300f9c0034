/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: run-time generated code with unwind tables given to __register_frame
 * Symptom: the tool asks libgcc's registry, which allocates and locks, or does not see such frames; exceptions through
 *     them are lost
 * Right: exit 0, stdout "ok": generated code with a hand-made .eh_frame calls a function that allocates and throws; the
 *     exception passes through it and is caught, 500 times, and the frames are deregistered.
 *
 * BUILD $CXX $SRC -o $BIN
 * EXPECT func thrown_through_jit 500 8500 0 0
 */
#include "tests/corpus/case.h"

#include <cstdlib>
#include <cstring>
#include <sys/mman.h>

extern "C" void __register_frame(void *);
extern "C" void __deregister_frame(void *);

extern "C" NOINLINE void *thrown_through_jit() {
    void *p = malloc(17);
    KEEP(p);
    return p;
}

static void callee() {
    free(thrown_through_jit());
    throw 42;
}

/* sub $8,%rsp; call *%rdi; add $8,%rsp; ret */
static const unsigned char code[] = {0x48, 0x83, 0xec, 0x08, 0xff, 0xd7, 0x48, 0x83, 0xc4, 0x08, 0xc3};

/* A CIE, an FDE for the code, and the end. */
static unsigned char *make_tables(unsigned char *at, const void *start) {
    static const unsigned char cie[] = {20, 0,    0, 0, 0,    0, 0, 0, 1, 0, 1, 0x78,
                                        16, 0x0c, 7, 8, 0x90, 1, 0, 0, 0, 0, 0, 0};
    /* advance 4; def_cfa_offset 16; advance 6; def_cfa_offset 8 */
    static const unsigned char moves[] = {0x44, 0x0e, 16, 0x46, 0x0e, 8, 0, 0};
    unsigned char *p = at;
    memcpy(p, cie, sizeof cie);
    p += sizeof cie;
    unsigned length = 4 + 16 + sizeof moves, back = (unsigned)sizeof cie + 4;
    unsigned long size = sizeof code;
    memcpy(p, &length, 4);
    memcpy(p + 4, &back, 4);
    memcpy(p + 8, &start, 8);
    memcpy(p + 16, &size, 8);
    memcpy(p + 24, moves, sizeof moves);
    memset(p + 24 + sizeof moves, 0, 4);
    return at;
}

int main() {
    auto *m =
        (unsigned char *)mmap(nullptr, 8192, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    static unsigned char tables[256] __attribute__((aligned(8)));
    if (m == MAP_FAILED)
        return 1;
    memcpy(m, code, sizeof code);
    __register_frame(make_tables(tables, m));
    int caught = 0;
    for (int i = 0; i < 500; i++) {
        try {
            ((void (*)(void (*)()))(void *)m)(callee);
        } catch (int n) {
            caught += n == 42;
        }
    }
    __deregister_frame(tables);
    return caught == 500 ? say_ok() : 2;
}
