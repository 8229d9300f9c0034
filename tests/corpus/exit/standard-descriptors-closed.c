/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: exit paths (descriptors 0, 1 and 2 closed or taken by the program's own files)
 * Symptom: the tool opens its output as descriptor 1 or 2, and the program's text ends up in it; or its messages in the
 *     program's file
 * Right: exit 0, stdout "ok", which is written at the very end to a copy of stdout. 0 to 2 are closed; 2 is then the
 *     program's data file, in which not one byte is the tool's.
 *
 * EXPECT profiles 1
 * EXPECT func without_stdout 1000 64000 0 0
 */
#include "tests/corpus/case.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>

static int out;

NOINLINE static void *without_stdout(void) {
    void *p = malloc(64);
    KEEP(p);
    return p;
}

static void last(void) {
    struct stat st;
    if (fstat(2, &st) == 0 && st.st_size == 4 && fcntl(0, F_GETFD) < 0 && fcntl(1, F_GETFD) < 0)
        (void)!write(out, "ok\n", 3);
}

int main(void) {
    out = dup2(1, 77);
    atexit(last);
    close(0);
    close(1);
    close(2);
    if (open("data", O_RDWR | O_CREAT, 0600) != 0 || dup2(0, 2) != 2 || close(0) || write(2, "data", 4) != 4)
        return 1;
    for (int i = 0; i < 1000; i++)
        free(without_stdout());
    return 0;
}
