/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: alignment (memalign and friends, up to 64 MiB)
 * Symptom: blocks with large alignment have the wrong size in the books, or are not found again when they are freed
 * Right: exit 0, stdout "ok": memalign, aligned_alloc and posix_memalign with alignments of 16 bytes to 64 MiB; blocks
 *     are aligned, can be written to the end, and balance.
 *
 * EXPECT func by_memalign 230 1035000 0 0
 * EXPECT func by_aligned_alloc 230 1035000 0 0
 * EXPECT func by_posix_memalign 230 1035000 0 0
 */
#include "tests/corpus/case.h"

#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

NOINLINE static void *by_memalign(size_t align, size_t n) {
    void *p = memalign(align, n);
    KEEP(p);
    return p;
}

NOINLINE static void *by_aligned_alloc(size_t align, size_t n) {
    void *p = aligned_alloc(align, n);
    KEEP(p);
    return p;
}

NOINLINE static void *by_posix_memalign(size_t align, size_t n) {
    void *p = NULL;
    if (posix_memalign(&p, align, n))
        return NULL;
    KEEP(p);
    return p;
}

int main(void) {
    for (size_t align = 16; align <= 64ul << 20; align *= 2)
        for (size_t i = 0; i < 10; i++) {
            size_t n = 1000 * i;
            void *p[3] = {by_memalign(align, n), by_aligned_alloc(align, n), by_posix_memalign(align, n)};
            for (int k = 0; k < 3; k++) {
                if (!p[k] || (uintptr_t)p[k] % align || malloc_usable_size(p[k]) < n)
                    return 1;
                memset(p[k], 'a', n);
            }
            for (int k = 0; k < 3; k++)
                free(p[k]);
        }
    return say_ok();
}
