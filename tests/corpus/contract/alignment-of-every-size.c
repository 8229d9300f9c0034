/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: malloc alignment (a header in front of the block spoils it)
 * Report: https://github.com/mstorsjo/llvm-mingw/issues/190
 * Symptom: vector code reads a heap object with an aligned load and faults: the block is only 8-byte aligned
 * Right: exit 0, stdout "ok": malloc, calloc, realloc give 16-byte aligned blocks for every size 1..5000; SSE aligned
 *     stores into them work; malloc_usable_size - size stays below 32 for small blocks (no hidden growth of memory use
 *     by headers: 100000 blocks of 24 bytes move the heap by less than 5 MB).
 *
 * EXPECT timeout 10
 * EXPECT func vec 5000 12502500 0 0
 */
#include "tests/corpus/case.h"

#include <emmintrin.h>
#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>

NOINLINE static void *vec(size_t n) {
    void *p = malloc(n);
    KEEP(p);
    return p;
}

static void *b[100000];

int main(void) {
    for (size_t n = 1; n <= 5000; n++) {
        void *p = vec(n), *q = calloc(n, 1), *r = realloc(NULL, n);
        KEEP(q);
        KEEP(r);
        if ((uintptr_t)p % 16 || (uintptr_t)q % 16 || (uintptr_t)r % 16)
            return 1;
        if (n >= 16) {
            _mm_store_si128((__m128i *)p, _mm_set1_epi8(1));
            _mm_store_si128((__m128i *)r, _mm_load_si128((__m128i *)q));
        }
        free(p);
        free(q);
        free(r);
    }
    struct mallinfo2 m0 = mallinfo2();
    for (int i = 0; i < 100000; i++) {
        b[i] = malloc(24);
        KEEP(b[i]);
        if (malloc_usable_size(b[i]) >= 24 + 32)
            return 2;
    }
    struct mallinfo2 m1 = mallinfo2();
    if (m1.uordblks > m0.uordblks + 5000000)
        return 3;
    for (int i = 0; i < 100000; i++)
        free(b[i]);
    return say_ok();
}
