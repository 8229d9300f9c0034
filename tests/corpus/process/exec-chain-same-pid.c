/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: exec chains and environment inheritance
 * Report: https://github.com/koute/bytehound/issues/19
 * Symptom: a later program started with the same settings (here even the same pid) writes over an earlier profile
 * Right: exit 0, stdout "ok". The process execs itself three times: one pid, four images, four profiles. No later image
 *     replaces or mixes into an earlier one's file, and no temporary file remains.
 *
 * EXPECT timeout 10
 * EXPECT func stage_3 13 1300 0 0
 * EXPECT profiles 4
 */
#include "tests/corpus/case.h"

#include <stdlib.h>
#include <string.h>

#define STAGE(n)                                                                                                       \
    NOINLINE static void stage_##n(void) {                                                                             \
        for (int i = 0; i < 10 + n; i++) {                                                                             \
            void *p = malloc(100);                                                                                     \
            KEEP(p);                                                                                                   \
            free(p);                                                                                                   \
        }                                                                                                              \
    }

STAGE(0) STAGE(1) STAGE(2) STAGE(3) int main(int argc, char **argv) {
    int s = argc > 1 ? atoi(argv[1]) : 0;
    char num[2] = {(char)('0' + s + 1), 0};
    if (s == 0)
        stage_0();
    else if (s == 1)
        stage_1();
    else if (s == 2)
        stage_2();
    else
        stage_3();
    if (s < 3) {
        char *a[] = {argv[0], num, NULL};
        execv("/proc/self/exe", a);
        return 9;
    }
    return say_ok();
}
