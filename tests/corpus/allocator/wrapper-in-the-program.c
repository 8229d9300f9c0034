/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: programs that define malloc on top of the next one
 * Symptom: the program's malloc calls RTLD_NEXT, which is the tool: frames, counts and pointers must pass through both
 * Right: exit 0, stdout "ok": the executable's own malloc, calloc, realloc and free count and forward; the program sees
 *     what it saw, and blocks are counted below the program's functions.
 *
 * BUILD $CC $SRC -o $BIN -Wl,--export-dynamic
 * EXPECT under through_wrapper 500 50000 0 0
 */
#include "tests/corpus/case.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

static long mallocs, frees;
static char early[4096];
static size_t early_used;

#define NEXT(name)                                                                                                     \
    static __typeof__(&name) next;                                                                                     \
    if (!next)                                                                                                         \
        next = (__typeof__(&name))dlsym(RTLD_NEXT, #name);

static int is_early(const void *p) {
    return (const char *)p >= early && (const char *)p < early + sizeof early;
}

void *malloc(size_t n) {
    NEXT(malloc)
    mallocs++;
    return next(n);
}

void free(void *p) {
    NEXT(free)
    frees++;
    if (!is_early(p))
        next(p);
}

/* dlsym itself may call it. */
void *calloc(size_t n, size_t size) {
    static int inside;
    static void *(*next)(size_t, size_t);
    if (!next) {
        if (inside) {
            void *p = early + early_used;
            early_used += (n * size + 15) & ~15ul;
            return early_used <= sizeof early ? p : NULL;
        }
        inside = 1;
        next = (void *(*)(size_t, size_t))dlsym(RTLD_NEXT, "calloc");
    }
    return next(n, size);
}

void *realloc(void *p, size_t n) {
    NEXT(realloc)
    return next(p, n);
}

NOINLINE static void *through_wrapper(void) {
    void *p = malloc(100);
    KEEP(p);
    return p;
}

int main(void) {
    long before = mallocs;
    for (int i = 0; i < 500; i++)
        free(through_wrapper());
    char *text = strdup("by libc");
    if (!text || mallocs - before != 501 || frees < 500)
        return 1;
    text = realloc(text, 1000);
    if (!text || strcmp(text, "by libc"))
        return 2;
    free(text);
    return say_ok();
}
