/* SPDX-License-Identifier: Apache-2.0 */
/* measure RESULT STDOUT STDERR [NAME=VALUE...] -- COMMAND [ARGUMENT...]
 *
 * Runs the command with these variables added and writes lines `key value` to RESULT: wall_ns, cpu_ns (user and
 * system), peak_kib (largest of the command's processes), end_ns (CLOCK_MONOTONIC when it was gone), status. A small
 * program of its own, because a process starts its life with the peak of the one that it was forked from. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static long long now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000ll + t.tv_nsec;
}

static void redirect(int fd, const char *path, int flags) {
    int opened = open(path, flags, 0600);
    if (opened < 0 || dup2(opened, fd) < 0) {
        perror(path);
        _exit(126);
    }
    close(opened);
}

int main(int argc, char **argv) {
    int command = 4;
    while (command < argc && strcmp(argv[command], "--") != 0)
        command++;
    if (++command >= argc) {
        fputs("usage: measure RESULT STDOUT STDERR [NAME=VALUE...] -- COMMAND [ARGUMENT...]\n", stderr);
        return 2;
    }
    long long start = now();
    pid_t pid = fork();
    if (pid < 0) {
        perror("fork");
        return 1;
    }
    if (pid == 0) {
        redirect(0, "/dev/null", O_RDONLY);
        redirect(1, argv[2], O_WRONLY | O_CREAT | O_TRUNC);
        redirect(2, argv[3], O_WRONLY | O_CREAT | O_APPEND);
        for (int i = 4; i < command - 1; i++)
            putenv(argv[i]);
        execvp(argv[command], argv + command);
        _exit(127);
    }
    int status;
    struct rusage r;
    if (wait4(pid, &status, 0, &r) != pid) {
        perror("wait4");
        return 1;
    }
    long long end = now();
    FILE *f = fopen(argv[1], "w");
    if (!f) {
        perror(argv[1]);
        return 1;
    }
    fprintf(f, "wall_ns %lld\ncpu_ns %lld\npeak_kib %ld\nend_ns %lld\nstatus %d\n", end - start,
            (r.ru_utime.tv_sec + r.ru_stime.tv_sec) * 1000000000ll + (r.ru_utime.tv_usec + r.ru_stime.tv_usec) * 1000ll,
            r.ru_maxrss, end, WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
    return fclose(f) != 0;
}
