/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: closed file descriptors (numbers seen by the program, leaks into children)
 * Report: https://github.com/DataDog/ddprof/issues/497
 * Symptom: descriptors of the profiler without close-on-exec leak into every child of the service
 * Right: exit 0, stdout "ok". At the start of main, and again after 1000 allocations, the lowest free descriptor is the
 *     same as without the preload (3: start it with only 0-2 open); a child started by exec sees no descriptor above 2.
 *
 * EXPECT timeout 10
 * EXPECT func num_leaf 1000 10000 0 0
 */
#include "tests/corpus/case.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

NOINLINE static void *num_leaf(void) {
    void *p = malloc(10);
    KEEP(p);
    return p;
}

static int others(void) { /* open descriptors above 2, the directory's own not counted */
    DIR *d = opendir("/proc/self/fd");
    struct dirent *e;
    int n = 0;
    if (!d)
        return -1;
    while ((e = readdir(d)))
        if (e->d_name[0] != '.' && atoi(e->d_name) > 2 && atoi(e->d_name) != dirfd(d))
            n++;
    closedir(d);
    return n;
}

int main(int argc, char **argv) {
    if (argc > 1)
        return others() == 0 ? 0 : 50;
    int a = open("/dev/null", O_RDONLY);
    if (a != 3)
        return 1;
    for (int i = 0; i < 1000; i++)
        free(num_leaf());
    int b = open("/dev/null", O_RDONLY);
    if (b != 4)
        return 2;
    close(a);
    close(b);
    pid_t p = fork();
    if (p == 0) {
        execl("/proc/self/exe", argv[0], "child", (char *)NULL);
        _exit(51);
    }
    int st;
    if (p < 0 || waitpid(p, &st, 0) < 0 || st)
        return 3;
    return say_ok();
}
