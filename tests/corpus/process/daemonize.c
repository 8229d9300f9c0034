/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: daemonize (double fork, setsid, chdir, close every descriptor)
 * Report: https://github.com/DataDog/dd-trace-rb/pull/2150
 * Symptom: after turning into a daemon the process is no longer profiled, or its profile goes nowhere
 * Right: exit 0, stdout "ok" (the first process waits on a pipe for the daemon's end). The daemon's own profile exists,
 *     in the place the settings named at start, and holds daemon_work; the two intermediate processes (both end with
 *     _exit) lose nothing of it.
 *
 * EXPECT timeout 10
 * EXPECT func daemon_work 200 20000 100 10000
 * EXPECT profiles 1..3
 */
#include "tests/corpus/case.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>

static void *keep[200];

NOINLINE static void daemon_work(void) {
    for (int i = 0; i < 200; i++) {
        void *p = malloc(100);
        KEEP(p);
        keep[i] = p;
    }
    for (int i = 0; i < 200; i += 2)
        free(keep[i]);
}

static int wfd;

static void last(void) {
    (void)!write(wfd, "d", 1);
} /* runs in exit(), before library destructors */

int main(void) {
    int fd[2];
    if (pipe(fd))
        return 1;
    pid_t p = fork();
    if (p == 0) {
        if (setsid() < 0)
            _exit(1);
        if (fork())
            _exit(0);
        if (chdir("/"))
            _exit(1);
        umask(0);
        wfd = dup2(fd[1], 90);
        for (int i = 0; i < 1024; i++)
            if (i != 90)
                close(i);
        open("/dev/null", O_RDWR);
        if (dup(0) != 1 || dup(0) != 2)
            _exit(3);
        atexit(last);
        daemon_work();
        exit(0);
    }
    int st;
    char c = 0;
    close(fd[1]);
    if (p < 0 || waitpid(p, &st, 0) < 0 || st)
        return 2;
    if (read(fd[0], &c, 1) != 1 || c != 'd')
        return 3;
    if (read(fd[0], &c, 1) != 0)
        return 4; /* end of file: the daemon is gone */
    return say_ok();
}
