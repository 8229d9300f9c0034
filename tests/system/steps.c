/* SPDX-License-Identifier: Apache-2.0 */
/* A program that does what its arguments say, one after the other:
 *
 *     keep_a:SIZE:COUNT  keep_b:SIZE:COUNT   allocates blocks and keeps them, in a function of that name
 *     pass:SIZE:COUNT                        allocates blocks and frees them
 *     hold:SIZE:COUNT  release               allocates blocks, and frees all of them
 *     sizes:COUNT                            allocates a block of each size from 1 to COUNT, each at a stack of its own
 *     deep:DEPTH:SIZE                        allocates a block with DEPTH calls of descend() on the stack
 *     start  stop  dump  dump:PATH  stats    cprof.h, where the library is there
 *     raise:SIGNAL  sleep:MILLISECONDS
 *     fork                                   the child goes on, the parent waits for it and ends with its status
 *     exec                                   starts itself anew with the arguments that are left
 *     limit:SOFT:HARD                        sets RLIMIT_NOFILE
 *     chdir:DIRECTORY  close:FD  say:TEXT  exit:STATUS  _exit:STATUS */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "preload/cprof.h"
#include "tests/system/turns.h"

#define SITE __attribute__((noipa)) static

static void *volatile kept;

SITE void keep_a(size_t size, size_t count) {
    for (size_t i = 0; i < count; i++)
        kept = malloc(size);
}

SITE void keep_b(size_t size, size_t count) {
    for (size_t i = 0; i < count; i++)
        kept = calloc(1, size);
}

SITE void pass(size_t size, size_t count) {
    for (size_t i = 0; i < count; i++) {
        kept = malloc(size);
        free(kept);
    }
}

static void *held[10000];
static size_t holding;

SITE void hold(size_t size, size_t count) {
    for (size_t i = 0; i < count && holding < sizeof held / sizeof *held; i++)
        held[holding++] = malloc(size);
}

static void release(void) {
    while (holding)
        free(held[--holding]);
}

SITE void bottom(size_t size) {
    kept = malloc(size);
}

SITE void descend(size_t depth, size_t size) {
    if (depth > 1)
        descend(depth - 1, size);
    else
        bottom(size);
    __asm__ volatile(""); /* no tail call */
}

SITE void turn_end(size_t number) {
    kept = malloc(number);
}

static void stats(void) {
    struct cprof_stats s;
    if (!cprof_get_stats)
        puts("no library");
    else if (cprof_get_stats(&s) != 0)
        printf("not profiled: %s\n", errno == ENODATA ? "ENODATA" : strerror(errno));
    else
        printf("stats %lu %lu %lu %lu %lu %lu\n", s.alloc_bytes, s.alloc_calls, s.sampled_bytes, s.sampled_blocks,
               s.dropped, s.own_bytes);
    fflush(stdout);
}

static void dump(const char *path) {
    if (!cprof_dump)
        puts("no library");
    else if (cprof_dump(path) != 0)
        printf("dump: %s\n", strerror(errno));
    fflush(stdout);
}

/* In the parent, waits for the child and ends as it did. */
static void go_on_in_child(void) {
    int status = 0;
    pid_t child = fork();
    if (child == 0)
        return;
    waitpid(child, &status, 0);
    exit(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
}

static int is(const char *step, const char *name) {
    return strcmp(step, name) == 0;
}

static int take_step(const char *step, const char *text, size_t a, size_t b) {
    if (is(step, "keep_a"))
        keep_a(a, b);
    else if (is(step, "keep_b"))
        keep_b(a, b);
    else if (is(step, "pass"))
        pass(a, b);
    else if (is(step, "hold"))
        hold(a, b);
    else if (is(step, "release"))
        release();
    else if (is(step, "sizes"))
        for (size_t i = 1; i <= a; i++)
            turn(16, i);
    else if (is(step, "deep"))
        descend(a, b);
    else if (is(step, "start") && cprof_start)
        cprof_start();
    else if (is(step, "stop") && cprof_stop)
        cprof_stop();
    else if (is(step, "dump"))
        dump(text);
    else if (is(step, "stats"))
        stats();
    else if (is(step, "raise"))
        raise((int)a);
    else if (is(step, "sleep"))
        usleep((useconds_t)a * 1000);
    else if (is(step, "fork"))
        go_on_in_child();
    else if (is(step, "chdir"))
        return chdir(text);
    else if (is(step, "limit"))
        return setrlimit(RLIMIT_NOFILE, &(struct rlimit){a, b});
    else if (is(step, "close"))
        close((int)a);
    else if (is(step, "say"))
        printf("%s\n", text), fflush(stdout);
    else if (is(step, "exit"))
        exit((int)a);
    else if (is(step, "_exit"))
        _exit((int)a);
    else
        return -1;
    return 0;
}

int main(int argc, char **argv) {
    static char buffer[4096];
    setvbuf(stdout, buffer, _IOLBF, sizeof buffer); /* so that printing allocates nothing */
    for (int i = 1; i < argc; i++) {
        char step[16] = "";
        size_t a = 0, b = 0;
        char *text = strchr(argv[i], ':');
        sscanf(argv[i], "%15[^:]:%zu:%zu", step, &a, &b);
        if (is(step, "exec")) {
            argv[i] = argv[0];
            execv("/proc/self/exe", argv + i);
        }
        if (take_step(step, text ? text + 1 : NULL, a, b) != 0) {
            fprintf(stderr, "%s: %s\n", argv[i], strerror(errno));
            return 2;
        }
    }
    return 0;
}
