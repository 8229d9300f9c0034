/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: libc's own names for the family (__libc_malloc and others)
 * Symptom: blocks made or freed by these names pass the hooks on one side only
 * Right: exit 0, stdout "ok": blocks of __libc_malloc, __libc_calloc and __libc_memalign are freed by free, and blocks
 *     of malloc by __libc_free; what was freed unseen stays in use until its address comes again, and nothing is below
 *     zero.
 *
 * EXPECT func freed_inside 1000 50000 * *
 * EXPECT unseen made_inside
 */
#include "tests/corpus/case.h"

#include <stdlib.h>
#include <string.h>

void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t size);
void *__libc_memalign(size_t align, size_t n);
void *__libc_realloc(void *p, size_t n);
void __libc_free(void *p);

NOINLINE static void *freed_inside(void) {
    void *p = malloc(50);
    KEEP(p);
    return p;
}

NOINLINE static void *made_inside(int i) {
    void *p = i % 3 == 0 ? __libc_malloc(50) : i % 3 == 1 ? __libc_calloc(5, 10) : __libc_memalign(64, 50);
    KEEP(p);
    return p;
}

int main(void) {
    for (int i = 0; i < 1000; i++) {
        void *a = freed_inside(), *b = made_inside(i);
        if (!a || !b)
            return 1;
        memset(a, 1, 50);
        memset(b, 2, 50);
        __libc_free(a);
        free(b);
    }
    return say_ok();
}
