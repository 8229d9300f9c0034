/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: deep recursion (10000+ frames)
 * Report: https://github.com/parca-dev/parca-agent/pull/2850
 * Symptom: a stack deeper than the profiler's limit is dropped altogether instead of being cut
 * Right: exit 0, stdout "ok" within 20 s. 300 allocations at the bottom of 20000 frames and 300 at 100 frames. All are
 *     counted; the deep ones keep their leaf end (deep_leaf, dive...) and are marked as cut, not lost, and not merged
 *     with other functions' samples.
 *
 * EXPECT timeout 30
 * EXPECT func deep_leaf 600 38400 300 19200
 * EXPECT stack deep_leaf<-dive<-dive<-dive
 */
#include "tests/corpus/case.h"

#include <stdlib.h>

static void *keep[300];

NOINLINE static void *deep_leaf(void) {
    void *p = malloc(64);
    KEEP(p);
    return p;
}

NOINLINE static void dive(int d, int shallow) {
    if (d) {
        dive(d - 1, shallow);
        KEEP(d);
        return;
    }
    for (int i = 0; i < 300; i++) {
        void *p = deep_leaf();
        if (shallow)
            free(p);
        else
            keep[i] = p;
    }
}

int main(void) {
    dive(20000, 0);
    dive(100, 1);
    return say_ok();
}
