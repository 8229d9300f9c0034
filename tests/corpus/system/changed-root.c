/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: chroot
 * Symptom: after chroot the output's name means another place, and the tool makes folders there, or crashes for want of
 *     a file
 * Right: exit 5, stdout "ok": a program goes to an empty folder by chroot and chdir, allocates, and ends. Nothing
 *     appears in the folder.
 *
 * NEEDS root
 * EXPECT exit 5
 * EXPECT stdout ok,0
 */
#include "tests/corpus/case.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

static void *held[100];

static int entries(const char *path) {
    int n = 0;
    DIR *d = opendir(path);
    while (d && readdir(d))
        n++;
    return n - 2;
}

int main(void) {
    int status;
    if (mkdir("root", 0755))
        return 1;
    pid_t child = fork();
    if (child == 0) {
        if (chroot("root") || chdir("/"))
            exit(1);
        for (int i = 0; i < 100; i++)
            held[i] = malloc(100);
        exit(say_ok() ? 2 : 9);
    }
    if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status) != 9)
        return 3;
    char text[2] = {(char)('0' + entries("root")), '\n'};
    return write(1, text, 2) == 2 ? 5 : 4;
}
