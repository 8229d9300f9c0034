/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: dumps after so many bytes
 * Symptom: a dump is due at every allocation, or none after the first; or the totals of a later one are smaller
 * Right: exit 0, stdout "ok": 20 MiB are allocated in blocks of 100 KiB, with a dump for each 4 MiB; each is a whole
 *     profile, the last one exact.
 *
 * ENV CPROF_INTERVAL_BYTES=4M
 * EXPECT dumps 3..7
 * EXPECT func by_hundreds 205 20992000 5 512000
 */
#include "tests/corpus/case.h"

#include <stdlib.h>

static void *held[205];

NOINLINE static void *by_hundreds(void) {
    void *p = malloc(102400);
    KEEP(p);
    return p;
}

int main(void) {
    for (int i = 0; i < 205; i++) {
        for (int k = 0; k < 64; k++) {
            void *p = malloc(8);
            KEEP(p);
            free(p);
        }
        held[i] = by_hundreds();
    }
    for (int i = 0; i < 200; i++)
        free(held[i]);
    return say_ok();
}
