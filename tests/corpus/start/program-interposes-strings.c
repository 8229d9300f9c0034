/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: start-up recursion (the program interposes functions that anybody calls)
 * Symptom: the program's own memcpy, strlen, getenv or getpid allocates; the tool calls it while it records an
 *     allocation
 * Right: exit 0, stdout "ok": such functions, exported by the program, allocate and count their calls; while the
 *     program allocates from new stacks, none is called.
 *
 * BUILD $CC -fno-builtin $SRC -o $BIN -Wl,--export-dynamic
 * EXPECT func leaf_among_strings 1000 16000 0 0
 */
#include "tests/corpus/case.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>

static volatile int calls, ready;

static void touch(void) {
    if (!ready)
        return;
    ready = 0; /* malloc itself may call one of them */
    void *p = malloc(24);
    KEEP(p);
    free(p);
    calls++;
    ready = 1;
}

void *memcpy(void *restrict to, const void *restrict from, size_t n) {
    char *t = to;
    const char *f = from;
    touch();
    for (size_t i = 0; i < n; i++) {
        t[i] = f[i];
        __asm__ volatile("");
    }
    return to;
}

void *memset(void *to, int c, size_t n) {
    char *t = to;
    touch();
    for (size_t i = 0; i < n; i++) {
        t[i] = (char)c;
        __asm__ volatile("");
    }
    return to;
}

size_t strlen(const char *s) {
    size_t n = 0;
    touch();
    while (s[n]) {
        n++;
        __asm__ volatile("");
    }
    return n;
}

int strcmp(const char *a, const char *b) {
    touch();
    while (*a && *a == *b) {
        a++;
        b++;
    }
    return (unsigned char)*a - (unsigned char)*b;
}

pid_t getpid(void) {
    touch();
    return (pid_t)syscall(SYS_getpid);
}

int clock_gettime(clockid_t clock, struct timespec *t) {
    touch();
    return (int)syscall(SYS_clock_gettime, clock, t);
}

NOINLINE static void *leaf_among_strings(int depth) {
    void *p = depth ? leaf_among_strings(depth - 1) : malloc(16);
    KEEP(p);
    return p;
}

int main(void) {
    ready = 1;
    for (int i = 0; i < 1000; i++)
        free(leaf_among_strings(i % 100));
    ready = 0;
    return calls ? 1 : say_ok();
}
