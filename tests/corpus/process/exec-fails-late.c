/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: exec that fails after it has begun
 * Symptom: the profile that was written because of the exec stays, and that of the end gets another name beside it
 * Right: exit 0, stdout "ok": execv of a file that is no program fails with ENOEXEC, of one that is being written with
 *     ETXTBSY; the names are put in meanwhile; there is one profile, with all of it.
 *
 * ENV CPROF_SYMBOLIZE=on
 * EXPECT timeout 20
 * EXPECT profiles 1
 * EXPECT func around_exec 60 6000000 60 6000000
 */
#include "tests/corpus/case.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

static void *held[60];

NOINLINE static void *around_exec(void) {
    void *p = malloc(100000);
    KEEP(p);
    return p;
}

int main(void) {
    char *const arguments[] = {"x", NULL};
    const char *text = "no program.txt";
    for (int i = 0; i < 20; i++)
        held[i] = around_exec();
    int fd = open(text, O_WRONLY | O_CREAT, 0755);
    if (fd < 0 || write(fd, "\1\2\3\4", 4) != 4)
        return 1;
    if (execv(text, arguments) != -1 || errno != ETXTBSY)
        return 2;
    usleep(300000);
    for (int i = 20; i < 40; i++)
        held[i] = around_exec();
    close(fd);
    if (execv(text, arguments) != -1 || errno != ENOEXEC)
        return 3;
    usleep(300000);
    for (int i = 40; i < 60; i++)
        held[i] = around_exec();
    return say_ok();
}
