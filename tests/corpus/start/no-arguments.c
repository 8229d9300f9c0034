/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: start-up (no arguments at all)
 * Symptom: argv[0] is missing or empty, and the tool takes its name from there
 * Right: exit 0, stdout "ok": the program executes itself without arguments; both images have a profile.
 *
 * EXPECT profiles 2
 * EXPECT func nameless 50 650 50 650
 */
#include "tests/corpus/case.h"

#include <stdlib.h>
#include <string.h>

extern char **environ;
static void *held[50];

NOINLINE static void *nameless(void) {
    void *p = malloc(13);
    KEEP(p);
    return p;
}

int main(int argc, char **argv) {
    char *none[] = {NULL};
    if (argc > 0 && argv[0][0]) {
        execve("/proc/self/exe", none, environ);
        return 1;
    }
    for (int i = 0; i < 50; i++)
        held[i] = nameless();
    return say_ok();
}
