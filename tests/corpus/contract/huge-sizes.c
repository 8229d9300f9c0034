/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: huge sizes
 * Report: https://github.com/bdwgc/bdwgc/issues/135
 * Symptom: a size near SIZE_MAX wraps round once the tool adds its own header or alignment: a tiny block is returned
 * Right: exit 0, stdout "ok". Every size from SIZE_MAX down to SIZE_MAX-4096 and around PTRDIFF_MAX fails with NULL and
 *     ENOMEM in malloc, calloc, realloc, memalign, aligned_alloc, valloc, pvalloc, posix_memalign (which returns
 *     ENOMEM). None is counted.
 *
 * EXPECT timeout 10
 * EXPECT unseen try_huge
 */
#include "tests/corpus/case.h"

#include <errno.h>
#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>

#define FAILS(e)                                                                                                       \
    do {                                                                                                               \
        errno = 0;                                                                                                     \
        void *p_ = (e);                                                                                                \
        KEEP(p_);                                                                                                      \
        if (p_ || errno != ENOMEM)                                                                                     \
            return __LINE__;                                                                                           \
    } while (0)

NOINLINE static int try_huge(size_t n) {
    FAILS(malloc(n));
    FAILS(calloc(1, n));
    FAILS(realloc(NULL, n));
    FAILS(memalign(64, n));
    FAILS(aligned_alloc(64, n));
    FAILS(valloc(n));
    FAILS(pvalloc(n));
    void *q = (void *)8;
    if (posix_memalign(&q, 64, n) != ENOMEM || q != (void *)8)
        return 1;
    return 0;
}

int main(void) {
    for (size_t d = 0; d <= 4096; d += d < 64 ? 1 : 61)
        if (try_huge(SIZE_MAX - d))
            return 1;
    for (int d = 0; d <= 100; d++)
        if (try_huge((size_t)PTRDIFF_MAX + 1 + d) || try_huge((size_t)PTRDIFF_MAX - d))
            return 2;
    return say_ok();
}
