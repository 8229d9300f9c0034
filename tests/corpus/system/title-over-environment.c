/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: environment (programs that write their title over it)
 * Symptom: names and settings that were not copied at start are gone: the profile goes nowhere, or has another
 *     program's name
 * Right: exit 0, stdout "ok": the program overwrites the whole area of argv and environ and changes its name; the
 *     profile is where the settings said, with the executable's own name for its mapping.
 *
 * EXPECT profiles 1
 * EXPECT func after_title 100 3500 100 3500
 * EXPECT mapping title-over-environment
 */
#include "tests/corpus/case.h"

#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

extern char **environ;
static void *held[100];

NOINLINE static void *after_title(void) {
    void *p = malloc(35);
    KEEP(p);
    return p;
}

int main(int argc, char **argv) {
    char *end = argv[0];
    for (int i = 0; i < argc; i++)
        end = argv[i] + strlen(argv[i]) + 1;
    for (char **e = environ; *e; e++)
        if (*e == end)
            end = *e + strlen(*e) + 1;
    memset(argv[0], 'T', (size_t)(end - argv[0]) - 1);
    environ = NULL;
    prctl(PR_SET_NAME, "another/name");
    for (int i = 0; i < 100; i++)
        held[i] = after_title();
    return say_ok();
}
