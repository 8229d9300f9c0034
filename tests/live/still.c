/* SPDX-License-Identifier: Apache-2.0 */
/* Allocates what is known, prints "ready", and then stays as it is told:
 *
 *     sleep     waits for a line of input, then ends
 *     spin      goes round in a loop
 *     deadlock  waits for a mutex that it holds itself
 *     churn     allocates and frees for ever, in four threads
 *     exec      waits for a line, and becomes `still sleep`
 *     thread    ends its first thread; another one waits for a line and ends the process
 *
 * Kept: 1000 blocks of 300 bytes by keep(). Freed again: 500 blocks of 40 bytes by pass(). */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SITE __attribute__((noipa)) static

static void *volatile kept;

SITE void keep(void) {
    for (int i = 0; i < 1000; i++)
        kept = malloc(300);
}

SITE void pass(void) {
    for (int i = 0; i < 500; i++) {
        kept = malloc(40);
        free(kept);
    }
}

SITE void churn_once(void) {
    void *p = malloc(64);
    __asm__ volatile("" : : "r"(p) : "memory");
    free(p);
}

static void *churn(void *unused) {
    (void)unused;
    for (;;)
        churn_once();
    return NULL;
}

static void wait_for_line(void) {
    char c;
    while (read(0, &c, 1) == 1 && c != '\n')
        continue;
}

static void *end_after_line(void *unused) {
    (void)unused;
    wait_for_line();
    exit(0);
}

static void ready(void) {
    if (write(1, "ready\n", 6) != 6)
        exit(3);
}

int main(int argc, char **argv) {
    const char *mode = argc > 1 ? argv[1] : "sleep";
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_t thread;
    keep();
    pass();
    if (strcmp(mode, "churn") == 0)
        for (int i = 0; i < 4; i++)
            pthread_create(&thread, NULL, churn, NULL);
    if (strcmp(mode, "thread") == 0)
        pthread_create(&thread, NULL, end_after_line, NULL);
    ready();
    if (strcmp(mode, "thread") == 0)
        pthread_exit(NULL);
    if (strcmp(mode, "deadlock") == 0) {
        pthread_mutex_lock(&mutex);
        pthread_mutex_lock(&mutex);
    }
    while (strcmp(mode, "spin") == 0)
        __asm__ volatile("");
    wait_for_line();
    if (strcmp(mode, "exec") == 0) {
        char next[] = "sleep";
        execv("/proc/self/exe", (char *[]){argv[0], next, NULL});
        return 3;
    }
    return 0;
}
