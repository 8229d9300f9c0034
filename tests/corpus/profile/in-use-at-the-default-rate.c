/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: profile counts (memory in use, sampled)
 * Symptom: blocks that were freed are scaled in another way than those that were allocated: in-use estimates are biased
 * Right: exit 0, stdout "ok": 4000 blocks of 64 KiB, of which every other one is freed. Sampled, what is in use is
 *     within five standard deviations of half of it.
 *
 * EXPECT func half_kept 4000 262144000 2000 131072000
 * EXPECT sampled half_kept 3120..4880 204000000..320000000 1380..2620 90000000..172000000
 */
#include "tests/corpus/case.h"

#include <stdlib.h>

static void *held[4000];

NOINLINE static void *half_kept(void) {
    void *p = malloc(65536);
    KEEP(p);
    return p;
}

int main(void) {
    for (int i = 0; i < 4000; i++)
        if (!(held[i] = half_kept()))
            _exit(77);
    for (int i = 0; i < 4000; i += 2)
        free(held[i]);
    return say_ok();
}
