/* SPDX-License-Identifier: Apache-2.0 */
/* victim PLUGIN: a small program that does a little of everything the library has to follow: growing blocks, many stacks, threads
 * that free each other's blocks, a library that is loaded and closed, an exec that fails, a child by fork and one by a bare clone.
 * What it prints, and its status, are always the same but for the numbers of the processes:
 *
 *     truth PID FUNCTION BLOCKS BYTES BLOCKS-IN-USE BYTES-IN-USE       of what the process allocated in this function itself */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/system/turns.h"

#define SITE __attribute__((noipa)) static
#define STACKS 256u

static void *volatile kept;
static void *blocks[64];

SITE void victim_grow(void) {
    char *p = NULL;
    for (size_t size = 16; size <= 1 << 20; size *= 2)
        p = realloc(p, size);
    kept = p;
}

SITE void *victim_thread(void *arg) {
    size_t n = (size_t)arg;
    for (size_t i = 0; i < 64; i++) {
        free(blocks[i]); /* of the thread before */
        blocks[i] = malloc(n);
    }
    return NULL;
}

/* Below a chain of calls, so that each number has a stack of its own for most of its length. */
SITE void victim_leaf(size_t number) {
    kept = calloc(1, 400 + number);
    kept = calloc(1, 4000);
}
SITE void chain(unsigned depth, size_t number) {
    if (depth)
        chain(depth - 1, number);
    else
        victim_leaf(number);
    __asm__ volatile("");
}
static void turn_end(size_t number) {
    chain(24, number);
}

SITE void victim_child(size_t size) {
    for (int i = 0; i < 10; i++)
        kept = malloc(size);
    free(kept);
}

static void truth(const char *function, size_t count, size_t bytes, size_t used, size_t used_bytes) {
    printf("truth %d %s %zu %zu %zu %zu\n", (int)getpid(), function, count, bytes, used, used_bytes);
}

static void run_threads(void) {
    pthread_t thread;
    for (size_t n = 100; n <= 300; n += 100)
        if (pthread_create(&thread, NULL, victim_thread, (void *)n) == 0)
            pthread_join(thread, NULL);
    truth("victim_thread", 3 * 64, 64 * (100 + 200 + 300), 64, 64 * 300);
}

static void run_plugin(const char *path) {
    void *handle = dlopen(path, RTLD_NOW);
    void (*allocate)(void) = handle ? (void (*)(void))dlsym(handle, "victim_plugin") : NULL;
    if (!allocate)
        exit(2);
    allocate();
    dlclose(handle);
    truth("victim_plugin", 20, 20 * 77, 20, 20 * 77);
}

static void run_child(long (*make)(void), size_t size) {
    int status = 0;
    fflush(stdout);
    pid_t child = (pid_t)make();
    if (child == 0) {
        for (int i = 0; i < 32; i++)
            free(blocks[i]);
        victim_child(size);
        truth("victim_child", 10, 10 * size, 9, 9 * size);
        fflush(stdout);
        _exit(3);
    }
    waitpid(child, &status, __WALL);
    printf("status %x\n", status);
}

static long by_fork(void) {
    return fork();
}
static long by_clone(void) {
    return syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
}

int main(int argc, char **argv) {
    static char buffer[4096];
    setvbuf(stdout, buffer, _IOFBF, sizeof buffer); /* so that printing allocates nothing */
    if (argc < 2)
        return 2;
    victim_grow();
    truth("victim_grow", 17, (2ul << 20) - 16, 1, 1 << 20);
    for (unsigned i = 0; i < STACKS; i++)
        turn(8, i);
    const size_t leaf_bytes = 4400 * STACKS + STACKS * (STACKS - 1) / 2;
    truth("victim_leaf", 2 * STACKS, leaf_bytes, 2 * STACKS, leaf_bytes);
    run_threads();
    run_plugin(argv[1]);
    execl("/dev/null/none", "none", NULL);
    run_child(by_fork, 100);
    run_child(by_clone, 200);
    puts("done");
    return 7;
}
