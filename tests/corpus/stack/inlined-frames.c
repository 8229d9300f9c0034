/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: inlined frames missing
 * Report: https://github.com/grafana/pyroscope/issues/4704
 * Symptom: functions inlined into the allocating one do not appear in the profile
 * Right: exit 0, stdout "ok". innie and middle are always inlined into outie. The address of the sample must let a
 *     symbolizer find all three, innermost first, by the debug information.
 *
 * BUILD $CC -O2 $SRC -o $BIN
 * NEEDS command addr2line
 * EXPECT timeout 5
 * EXPECT func outie 100 6400 0 0
 * EXPECT inline innie<-middle<-outie
 */
#include "tests/corpus/case.h"

#include <stdlib.h>

#define AI static inline __attribute__((always_inline))

AI void *innie(void) {
    void *p = malloc(64);
    KEEP(p);
    return p;
}

AI void *middle(int i) {
    void *p = innie();
    *(volatile char *)p = (char)i;
    return p;
}

NOINLINE void *outie(int i) {
    void *p = middle(i + 1);
    KEEP(p);
    return p;
}

int main(void) {
    for (int i = 0; i < 100; i++)
        free(outie(i));
    return say_ok();
}
