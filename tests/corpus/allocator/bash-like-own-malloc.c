/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: programs with their own malloc (bash-like)
 * Report: https://github.com/async-profiler/async-profiler/pull/1269
 * Symptom: the program's own malloc, and the one the profiler calls as "original", are different: behaviour changes
 * Right: exit 0, stdout "ok". The executable defines malloc, calloc, realloc, free on a static pool; libc's own calls
 *     (strdup, fopen, qsort) use them as well, since the executable comes first in the search order. The preload's
 *     hooks are bypassed; its constructor, its own memory and its dump must cope with every malloc in the process being
 *     the program's. An empty profile (valid, no samples) is right. The pool sees no foreign pointer.
 *
 * BUILD $CC $SRC -o $BIN -Wl,--export-dynamic
 * EXPECT timeout 5
 */
#include "tests/corpus/case.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define POOL (64u << 20)

static char pool[POOL] __attribute__((aligned(16)));
static size_t used;
static int foreign, live;

static int mine(void *p) {
    return (char *)p >= pool && (char *)p < pool + POOL;
}

void *malloc(size_t n) {
    size_t need = (n + 31) & ~(size_t)15;
    if (n > POOL || used + need > POOL)
        return NULL;
    char *p = pool + used;
    used += need;
    *(size_t *)p = n;
    live++;
    return p + 16;
}

void free(void *p) {
    if (!p)
        return;
    if (!mine(p))
        foreign++;
    else {
        memset(p, 0xdd, ((size_t *)p)[-2]);
        live--;
    }
}

void *calloc(size_t a, size_t b) {
    size_t n;
    if (__builtin_mul_overflow(a, b, &n))
        return NULL;
    void *p = malloc(n);
    if (p)
        memset(p, 0, n);
    return p;
}

void *realloc(void *p, size_t n) {
    if (!p)
        return malloc(n);
    if (!mine(p)) {
        foreign++;
        return NULL;
    }
    size_t old = ((size_t *)p)[-2];
    void *q = malloc(n);
    if (q) {
        memcpy(q, p, old < n ? old : n);
        free(p);
    }
    return q;
}

int main(void) {
    for (int i = 0; i < 1000; i++) {
        char *s = strdup("own pool");
        if (!mine(s))
            return 1;
        s = realloc(s, 500);
        if (strcmp(s, "own pool"))
            return 2;
        free(s);
    }
    FILE *f = fopen("/dev/null", "r");
    if (!f)
        return 3;
    fclose(f);
    if (foreign)
        return 4;
    return say_ok();
}
