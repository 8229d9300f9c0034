/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: coroutines / stacks that share a mapping with a thread's
 * Symptom: what is readable right below a thread's stack is taken for part of it, and read after it went: a crash
 * Right: exit 0, stdout "ok". A thread on a stack of the program's own, without a guard page, has coroutine stacks right
 *     below, the upper ones of which go away. Then the lowest one is walked, from code without unwind tables, with a
 *     frame pointer that leads to where they were; and from frames with tables, at the leaf of a stack that was there before.
 *
 * BUILD $CC -pthread $SRC -o $BIN
 * EXPECT func on_coroutine 739 14780 0 0
 */
#include "tests/corpus/case.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>

#define STACK (64ul << 10)
#define OWN (1ul << 20)

void without_tables(void (*f)(void), char *top, char *rbp);
void with_tables(void (*f)(void), char *top, char *rbp);
#define SWITCH(name, begin, end)                                                                           \
    __asm__(".text\n.globl " name "\n.type " name ",@function\n" name ":\n" begin                          \
            "push %rbp\npush %rbx\nmov %rsp,%rbx\nmov %rsi,%rsp\nmov %rdx,%rbp\ncall *%rdi\n"              \
            "mov %rbx,%rsp\npop %rbx\npop %rbp\nret\n" end ".size " name ",.-" name "\n")
SWITCH("without_tables", "", "");
SWITCH("with_tables", ".cfi_startproc\n.cfi_undefined %rip\n", ".cfi_endproc\n");

static char *leaf, *at;

NOINLINE static void on_coroutine(void) {
    leaf = __builtin_frame_address(0);
    void *p = malloc(20);
    KEEP(p);
    free(p);
}

NOINLINE static void nest(int depth) {
    char room[1000], *p = room;
    KEEP(p);
    if (depth)
        nest(depth - 1);
    else
        on_coroutine();
    KEEP(p);
}

static void deep(void) {
    nest(100);
}

static void *run(void *unused) {
    char *top = at + 4 * STACK - 4096;
    on_coroutine();
    /* Often enough for its stacks to be kept, those that take turns too. */
    for (int i = 0; i < 300; i++) {
        with_tables(deep, top - 64, NULL);
        with_tables(deep, top, NULL);
    }
    char *same = leaf + 16, *gone = (char *)(((unsigned long)leaf + 8192) & ~4095ul);
    if (mprotect(gone, (size_t)(at + 4 * STACK - gone), PROT_NONE))
        return unused;
    for (int i = 0; i < 128; i++) /* one of them has the leaf where it was */
        with_tables(on_coroutine, same - 8 * i, NULL);
    if (mprotect(gone, (size_t)(at + 4 * STACK - gone), PROT_READ | PROT_WRITE))
        return unused;
    for (int i = 0; i < 4; i++)
        without_tables(on_coroutine, at + STACK * (i + 1ul) - 4096, at + STACK * (i + 1ul) - 2048);
    if (mprotect(at + STACK, 3 * STACK, PROT_NONE))
        return unused;
    for (int i = 0; i < 6; i++)
        without_tables(on_coroutine, at + STACK - 1024, at + STACK + 512);
    return at;
}

int main(void) {
    at = mmap(NULL, 4 * STACK + OWN, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    pthread_attr_t attributes;
    pthread_t thread;
    void *result;
    pthread_attr_init(&attributes);
    if (at == MAP_FAILED || pthread_attr_setstack(&attributes, at + 4 * STACK, OWN) ||
        pthread_create(&thread, &attributes, run, NULL) || pthread_join(thread, &result) || !result)
        return 1;
    return say_ok();
}
