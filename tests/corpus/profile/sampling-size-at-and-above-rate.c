/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: profile counts wrong (sampling bias at the sampling rate)
 * Report: https://github.com/golang/go/issues/26618
 * Symptom: blocks at least as big as the rate are always sampled but still scaled up: 58 % too much
 * Right: exit 0, stdout "ok". True totals: at_rate 2000 x 524288, just_below 2000 x 524287, four_times 500 x 2097152,
 *     tenth 20000 x 52429, tiny 3000000 x 64. At a mean rate of 512 KiB the estimates must lie within 5 standard
 *     deviations of the truth: the ranges below. At rate 1 they are exact.
 *
 * EXPECT timeout 120
 * EXPECT func at_rate 2000 1048576000 0 0
 * EXPECT func just_below 2000 1048574000 0 0
 * EXPECT func four_times 500 1048576000 0 0
 * EXPECT func tenth 20000 1048580000 0 0
 * EXPECT func tiny 3000000 192000000 0 0
 * EXPECT sampled at_rate 1820..2180 954000000..1143000000 0 0
 * EXPECT sampled just_below 1820..2180 954000000..1143000000 0 0
 * EXPECT sampled four_times 484..516 1015000000..1082200000 0 0
 * EXPECT sampled tenth 17700..22300 927900000..1169200000 0 0
 * EXPECT sampled tiny 2200000..3800000 140000000..244000000 0 0
 */
#include "tests/corpus/case.h"

#include <stdlib.h>

#define F(name, n)                                                                                                     \
    NOINLINE static void *name(void) {                                                                                 \
        void *p = malloc(n);                                                                                           \
        KEEP(p);                                                                                                       \
        return p;                                                                                                      \
    }

F(at_rate, 524288) F(just_below, 524287) F(four_times, 2097152) F(tenth, 52429) F(tiny, 64) int main(void) {
    for (int r = 0; r < 500; r++) {
        for (int i = 0; i < 4; i++) {
            free(at_rate());
            free(just_below());
        }
        free(four_times());
        for (int i = 0; i < 40; i++)
            free(tenth());
        for (int i = 0; i < 6000; i++)
            free(tiny());
    }
    return say_ok();
}
