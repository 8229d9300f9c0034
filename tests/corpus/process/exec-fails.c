/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: exec that fails
 * Symptom: the tool ends its work before exec, which then fails: what comes after is lost, or the file is written twice
 * Right: exit 0, stdout "ok": execv fails with ENOENT, EACCES, ENOEXEC and E2BIG, errno is right, the program goes on,
 *     and there is one profile with all of it.
 *
 * EXPECT profiles 1
 * EXPECT func around_exec 200 2000 100 1000
 */
#include "tests/corpus/case.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

static void *held[100];

NOINLINE static void *around_exec(void) {
    void *p = malloc(10);
    KEEP(p);
    return p;
}

int main(void) {
    char *const plain[] = {"x", NULL};
    char *huge = malloc(1 << 20), *many[64];
    const char *text = "no program.txt";
    int fd = open(text, O_WRONLY | O_CREAT, 0755);
    if (!huge || fd < 0 || write(fd, "\1\2\3\4", 4) != 4 || close(fd))
        return 1;
    memset(huge, 'x', 1 << 20);
    huge[(1 << 20) - 1] = 0;
    for (int i = 0; i < 63; i++)
        many[i] = huge;
    many[63] = NULL;
    for (int i = 0; i < 25; i++) {
        for (int k = 0; k < 4; k++)
            held[4 * i + k] = around_exec();
        errno = 0;
        if (execv("/no/such/program", plain) != -1 || errno != ENOENT)
            return 2;
        free(around_exec());
        if (execv("/tmp", plain) != -1 || errno != EACCES)
            return 3;
        free(around_exec());
        if (execv(text, plain) != -1 || errno != ENOEXEC)
            return 4;
        free(around_exec());
        if (execv("/bin/true", many) != -1 || errno != E2BIG)
            return 5;
        free(around_exec());
    }
    return say_ok();
}
