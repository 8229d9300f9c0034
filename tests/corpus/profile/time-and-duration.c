/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: time / duration fields
 * Report: https://github.com/google/starlark-go/pull/187
 * Symptom: the profile's time is taken from the monotonic clock: it lies in 1970
 * Right: exit 0, stdout "ok". The program runs 1.5 s. time_nanos is the wall-clock start (within 2 s of the run's
 *     start, CLOCK_REALTIME), duration_nanos is 1.4e9..4e9, measured by a clock that does not jump. Both are set also
 *     for dumps on a signal.
 *
 * EXPECT timeout 10
 * EXPECT func timed_leaf 150 15000 0 0
 * EXPECT duration 1400000000..4000000000
 */
#include "tests/corpus/case.h"

#include <stdlib.h>

NOINLINE static void *timed_leaf(void) {
    void *p = malloc(100);
    KEEP(p);
    return p;
}

int main(void) {
    for (int i = 0; i < 150; i++) {
        free(timed_leaf());
        usleep(10000);
    }
    return say_ok();
}
