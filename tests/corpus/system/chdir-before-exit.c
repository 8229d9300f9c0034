/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: chdir before exit
 * Report: https://github.com/python/cpython/issues/84672
 * Symptom: a relative output name ends up in whatever folder the program has changed to by the time of the dump
 * Right: exit 0, stdout "ok". The profile is in the folder the program was started in (name resolved at start), none in
 *     "sub", which the program makes, enters and then removes (so that at exit the current folder does not exist).
 *
 * ENV CPROF_OUT=prof
 * EXPECT timeout 5
 * EXPECT func gone_leaf 100 4400 100 4400
 * EXPECT profiles 1
 */
#include "tests/corpus/case.h"

#include <stdlib.h>
#include <sys/stat.h>

static void *keep[100];

NOINLINE static void *gone_leaf(void) {
    void *p = malloc(44);
    KEEP(p);
    return p;
}

int main(void) {
    char d[] = "sub-XXXXXX";
    if (!mkdtemp(d) || chdir(d))
        return 1;
    for (int i = 0; i < 100; i++)
        keep[i] = gone_leaf();
    char up[64] = "../";
    for (int i = 0; d[i]; i++) {
        up[3 + i] = d[i];
        up[4 + i] = 0;
    }
    if (rmdir(up))
        return 2;
    return say_ok();
}
