/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: code that calls on another stack and finds its way back by rbp, as its unwind tables say
 * Symptom: that frame seems to be of many MiB: the walk reads what lies between the stacks, or above a stack that went
 * Right: exit 0, stdout "ok": nothing between the two is readable; the caller's frames are found. Then rbp leads to the edges of
 *     the upper stack, to frames that lead on over them, and to where it was before it became unreadable: the walk ends.
 *
 * BUILD $CC -pthread $SRC -o $BIN
 * EXPECT func far_below 1900 38000 0 0
 * EXPECT stack far_below<-upper
 */
#include "tests/corpus/case.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>

#define STACK (64ul << 10)
#define GAP (100ul << 20)

/* Calls f at `top`; its caller is found by rbp, which is `rbp` unless that is NULL. */
void call_on(void (*f)(void), char *top, char *rbp);
__asm__(".text\n.globl call_on\n.type call_on,@function\ncall_on:\n.cfi_startproc\n"
        "push %rbp\n.cfi_def_cfa_offset 16\n.cfi_offset %rbp, -16\n"
        "push %rbx\nmov %rsp,%rbx\nmov %rsp,%rbp\nadd $8,%rbp\n.cfi_def_cfa %rbp, 16\n"
        "test %rdx,%rdx\ncmovne %rdx,%rbp\n"
        "mov %rsi,%rsp\ncall *%rdi\n"
        "mov %rbx,%rsp\n.cfi_def_cfa %rsp, 24\npop %rbx\n.cfi_def_cfa_offset 16\npop %rbp\n.cfi_def_cfa_offset 8\n"
        "ret\n.cfi_endproc\n.size call_on,.-call_on\n");

static char *at;

NOINLINE static void far_below(void) {
    void *p = malloc(20);
    KEEP(p);
    free(p);
}

NOINLINE static void upper(void) {
    call_on(far_below, at + STACK - 64, NULL);
    __asm__ volatile("");
}

/* A frame that ends at `end`, and the rbp that leads there; outside of it, a page is skipped by rbp. */
static char *forge(char *end) {
    ((char **)end)[-2] = end + 4096;
    ((char **)end)[-1] = (char *)call_on + 24; /* behind its call */
    return end - 16;
}

static int rounds(void) {
    char *low = at + STACK - 64, *high = at + STACK + GAP, *end = high + STACK, *middle = high + STACK / 2;
    if (mprotect(high, STACK, PROT_READ | PROT_WRITE))
        return 0;
    char *const edges[] = {high - 4096, high - 16, high - 8, end - 8, end, end + 4096, forge(end), forge(middle)};
    const int n = sizeof edges / sizeof *edges;
    for (int i = 0; i < 100; i++) {
        int gone = i % 2;
        if (mprotect(middle, STACK / 2, gone ? PROT_NONE : PROT_READ | PROT_WRITE))
            return 0;
        call_on(upper, middle - 4096, NULL);
        if (!gone)
            call_on(upper, end - 4096, NULL);
        for (int k = 0; k < n; k++)
            call_on(far_below, low, edges[k]);
    }
    return 1;
}

static void *on_thread(void *result) {
    if (rounds())
        result = at;
    KEEP(result);
    return result;
}

int main(void) {
    pthread_t thread;
    void *result;
    at = mmap(NULL, 2 * STACK + GAP, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED || mprotect(at, STACK, PROT_READ | PROT_WRITE))
        return 1;
    if (pthread_create(&thread, NULL, on_thread, NULL) || pthread_join(thread, &result) || !result)
        return 2;
    return rounds() ? say_ok() : 3;
}
