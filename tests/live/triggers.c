/* SPDX-License-Identifier: Apache-2.0 */
/* triggers MODE N: gives rise to N dumps, or to what should be N.
 *
 *     raise SIGNAL    sends it to itself N times, allocating 100 blocks of 10 bytes by step() before each
 *     stack SIGNAL    the same, on an alternate stack as small as the kernel allows
 *     threads SIGNAL  sends it to the process N times while eight threads allocate
 *     calls           calls cprof_dump(NULL) N times
 *     beside          eight threads call cprof_dump(NULL) all at once, N times each; prints how many were done
 *     bytes           allocates and frees N times 1 MiB in blocks of 4 KiB
 *     time            allocates for N hundredths of a second */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <time.h>
#include <unistd.h>

#include "preload/cprof.h"

#define SITE __attribute__((noipa)) static

#ifndef AT_MINSIGSTKSZ
#define AT_MINSIGSTKSZ 51
#endif

static void *volatile kept;
static int stop, done, total;

SITE void step(void) {
    for (int i = 0; i < 100; i++)
        kept = malloc(10);
}

SITE void pass(size_t size) {
    void *p = malloc(size);
    __asm__ volatile("" : : "r"(p) : "memory");
    free(p);
}

static void *churn(void *unused) {
    (void)unused;
    while (!__atomic_load_n(&stop, __ATOMIC_RELAXED))
        pass(64);
    return NULL;
}

static void *dump_often(void *unused) {
    (void)unused;
    for (int i = 0; i < total; i++)
        if (cprof_dump(NULL) == 0)
            __atomic_add_fetch(&done, 1, __ATOMIC_RELAXED);
        else if (errno != EALREADY)
            abort();
    return NULL;
}

static void in_threads(void *(*fn)(void *), void (*meanwhile)(int), int number) {
    pthread_t threads[8];
    for (int i = 0; i < 8; i++)
        pthread_create(&threads[i], NULL, fn, NULL);
    if (meanwhile)
        meanwhile(number);
    __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
    for (int i = 0; i < 8; i++)
        pthread_join(threads[i], NULL);
}

static void send_often(int number) {
    for (int i = 0; i < total; i++) {
        kill(getpid(), number);
        usleep(5000);
    }
}

static void raise_often(int number) {
    for (int i = 0; i < total; i++) {
        step();
        raise(number);
    }
}

static void for_some_time(int hundredths) {
    struct timespec start, now;
    clock_gettime(CLOCK_MONOTONIC, &start);
    do {
        pass(100);
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while ((now.tv_sec - start.tv_sec) * 100 + (now.tv_nsec - start.tv_nsec) / 10000000 < hundredths);
}

int main(int argc, char **argv) {
    const char *mode = argc > 2 ? argv[1] : "";
    int number = argc > 3 ? atoi(argv[3]) : 0;
    total = argc > 2 ? atoi(argv[2]) : 0;
    if (strcmp(mode, "stack") == 0) {
        size_t size = getauxval(AT_MINSIGSTKSZ);
        stack_t stack = {.ss_size = size > (size_t)MINSIGSTKSZ ? size : (size_t)MINSIGSTKSZ};
        stack.ss_sp = malloc(stack.ss_size);
        sigaltstack(&stack, NULL);
    }
    if (strcmp(mode, "raise") == 0 || strcmp(mode, "stack") == 0)
        raise_often(number);
    else if (strcmp(mode, "threads") == 0)
        in_threads(churn, send_often, number);
    else if (strcmp(mode, "beside") == 0)
        in_threads(dump_often, NULL, 0), printf("%d\n", done);
    else if (strcmp(mode, "bytes") == 0)
        for (int i = 0; i < total * 256; i++)
            pass(4096);
    else if (strcmp(mode, "time") == 0)
        for_some_time(total);
    else if (strcmp(mode, "calls") == 0)
        for (int i = 0; i < total; i++) {
            step();
            if (cprof_dump(NULL) != 0)
                return 2;
        }
    else
        return 2;
    return 0;
}
