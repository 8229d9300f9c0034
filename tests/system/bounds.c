/* SPDX-License-Identifier: Apache-2.0 */
/* What a process leaves when things come together:
 *
 *     end HOW MS   works, and calls exit after so many milliseconds, amid what another thread does: allocate,
 *                  write profiles by cprof_dump until that fails, or call _exit at once
 *     stacks       thousands of stacks in deep(), half of the blocks freed, then five children that do likewise;
 *                  each prints "truth PID BLOCKS BYTES BLOCKS_IN_USE BYTES_IN_USE" of its own
 *     forks N      a block of 8 MB by keep(), then so many children, of which the last one alone allocates, in own()
 *     trickle N    5000 bytes by drop() every millisecond, so many times */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "preload/cprof.h"

#define SITE __attribute__((noipa)) static

static void *volatile kept;

SITE void work(unsigned bits, int depth) {
    if (depth) {
        work(bits >> 1, depth - 1);
    } else {
        kept = malloc(16 + bits);
        free(kept);
    }
    __asm__ volatile("");
}

static void *allocate(void *unused) {
    (void)unused;
    for (unsigned i = 0;; i++)
        work(i % 5000 << 4, 6);
    return NULL;
}

static void *write_profiles(void *unused) {
    while (cprof_dump && cprof_dump(NULL) == 0)
        ;
    return unused;
}

static void *leave(void *unused) {
    (void)unused;
    _exit(0);
}

static int end(const char *how, unsigned ms) {
    pthread_t thread;
    for (unsigned i = 0; i < 5000; i++)
        work(i << 4, 6);
    pthread_create(&thread, NULL, how[0] == 'a' ? allocate : how[0] == 'd' ? write_profiles : leave, NULL);
    if (ms)
        usleep(ms * 1000);
    exit(0);
}

static unsigned long blocks, bytes, used_blocks, used_bytes;
static unsigned state = 1;

SITE void deep(int depth) {
    if (state >> (depth % 24) & 1)
        __asm__ volatile("");
    if (depth)
        deep(depth - 1);
    size_t size = state % 5000 + 1;
    kept = malloc(size);
    blocks++;
    bytes += size;
    state = state * 1103515245 + 12345;
    if (state & 1 << 16) {
        free(kept);
    } else {
        used_blocks++;
        used_bytes += size;
    }
}

static void say(void) {
    char line[128];
    int len = snprintf(line, sizeof line, "truth %d %lu %lu %lu %lu\n", (int)getpid(), blocks, bytes, used_blocks,
                       used_bytes);
    if (write(1, line, (size_t)len) != len)
        exit(3);
}

static int wait_for(pid_t child) {
    int status;
    return waitpid(child, &status, 0) == child && status == 0;
}

static int stacks(void) {
    for (int i = 0; i < 100; i++)
        deep(100);
    for (int i = 0; i < 5; i++) {
        pid_t child = fork();
        if (child == 0) {
            blocks = bytes = used_blocks = used_bytes = 0;
            for (int k = 0; k < 20; k++)
                deep(100);
            say();
            exit(0);
        }
        if (!wait_for(child))
            return 1;
    }
    say();
    return 0;
}

SITE void keep(void) {
    kept = malloc(8 << 20);
}
SITE void own(void) {
    kept = malloc(8 << 20);
}

static int forks(int n) {
    keep();
    for (int i = 1; i <= n; i++) {
        pid_t child = fork();
        if (child == 0) {
            if (i == n)
                own();
            exit(0);
        }
        if (!wait_for(child))
            return 1;
    }
    return 0;
}

SITE void drop(void) {
    kept = malloc(5000);
    free(kept);
}

static int trickle(int n) {
    for (int i = 0; i < n; i++) {
        drop();
        usleep(1000);
    }
    return 0;
}

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "";
    if (strcmp(what, "end") == 0 && argc == 4)
        return end(argv[2], (unsigned)atoi(argv[3]));
    if (strcmp(what, "stacks") == 0)
        return stacks();
    if (strcmp(what, "forks") == 0 && argc == 3)
        return forks(atoi(argv[2]));
    if (strcmp(what, "trickle") == 0 && argc == 3)
        return trickle(atoi(argv[2]));
    return 2;
}
