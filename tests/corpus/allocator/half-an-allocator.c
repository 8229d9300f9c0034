/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: programs that define malloc and free only
 * Symptom: what the program does not define comes from the tool or from libc, and is freed by the program's free:
 *     blocks cross
 * Right: exit 0, stdout "ok": the executable has malloc and free on a pool and hands foreign blocks on; calloc,
 *     realloc, aligned_alloc and what libc allocates work as they do without the tool.
 *
 * BUILD $CC $SRC -o $BIN -Wl,--export-dynamic
 */
#include "tests/corpus/case.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static char pool[1 << 20] __attribute__((aligned(16)));
static size_t used;
static long handed_on;

static int is_mine(const void *p) {
    return (const char *)p >= pool && (const char *)p < pool + sizeof pool;
}

void *malloc(size_t n) {
    size_t need = (n + 15) & ~15ul;
    if (need < n || used + need > sizeof pool)
        return NULL;
    void *p = pool + used;
    used += need;
    return p;
}

void free(void *p) {
    static void (*next)(void *);
    if (!p || is_mine(p))
        return;
    if (!next)
        next = (void (*)(void *))dlsym(RTLD_NEXT, "free");
    handed_on++;
    next(p);
}

int main(void) {
    for (int i = 0; i < 200; i++) {
        char *own = malloc(100), *zeroed = calloc(10, 30), *aligned = aligned_alloc(256, 512);
        KEEP(own);
        KEEP(zeroed);
        KEEP(aligned);
        if (!is_mine(own) || !zeroed || zeroed[299] || !aligned || (uintptr_t)aligned % 256)
            return 1;
        memset(aligned, 1, 512);
        zeroed = realloc(zeroed, 5000);
        KEEP(zeroed);
        if (!zeroed || zeroed[0])
            return 2;
        free(own);
        free(zeroed);
        free(aligned);
    }
    return handed_on >= 400 ? say_ok() : 3;
}
