/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: aligned_alloc / posix_memalign bad alignment
 * Report: https://github.com/microsoft/mimalloc/issues/27
 * Symptom: posix_memalign changes the caller's pointer although it fails
 * Right: exit 0, stdout "ok". Bad alignments (0, 3, 4, 24, 2^63+8): EINVAL as the return value, errno and the pointer
 *     untouched, nothing counted. Good ones 8..1 MiB: aligned, counted with the requested size.
 *
 * EXPECT timeout 5
 * EXPECT unseen bad_align
 * EXPECT func good_align 180 18000 0 0
 */
#include "tests/corpus/case.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

NOINLINE static int bad_align(size_t a) {
    void *p = (void *)77;
    errno = 5;
    int r = posix_memalign(&p, a, 100);
    return r != EINVAL || p != (void *)77 || errno != 5;
}

NOINLINE static int good_align(size_t a) {
    void *p = NULL;
    errno = 5;
    int r = posix_memalign(&p, a, 100);
    KEEP(p);
    if (r || !p || (uintptr_t)p % a || errno != 5)
        return 1;
    free(p);
    return 0;
}

int main(void) {
    const size_t bad[] = {0, 3, 4, 24, ((size_t)1 << 63) + 8};
    for (int i = 0; i < 10; i++) {
        for (int k = 0; k < 5; k++)
            if (bad_align(bad[k]))
                return 1;
        for (size_t a = 8; a <= 1 << 20; a *= 2)
            if (good_align(a))
                return 2;
    }
    return say_ok();
}
