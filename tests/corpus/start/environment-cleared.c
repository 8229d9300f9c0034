/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: environment (settings gone by the time they are read)
 * Report: https://github.com/honggyukim/heaptrace/issues/18
 * Symptom: getenv returns NULL for a setting that was expected, and the preload dereferences it
 * Right: exit 0, stdout "ok". The program calls clearenv, then fills the environment with other values for every
 *     variable it had (setenv NAME garbage). The profile still goes where the settings said at start; no call of getenv
 *     later than the start, and none while another thread runs setenv.
 *
 * EXPECT timeout 5
 * EXPECT func env_leaf 100 1300 100 1300
 */
#include "tests/corpus/case.h"

#include <stdlib.h>
#include <string.h>

extern char **environ;
static void *keep[100];

NOINLINE static void *env_leaf(void) {
    void *p = malloc(13);
    KEEP(p);
    return p;
}

int main(void) {
    char *names[512];
    int n = 0;
    for (char **e = environ; *e && n < 512; e++) {
        char *q = strchr(*e, '=');
        if (q)
            names[n++] = strndup(*e, q - *e);
    }
    clearenv();
    for (int i = 0; i < n; i++)
        setenv(names[i], "/garbage/\xff\xff value", 1);
    for (int i = 0; i < 100; i++)
        keep[i] = env_leaf();
    return say_ok();
}
