/* SPDX-License-Identifier: Apache-2.0 */
/* To be preloaded: a library whose constructor, before the program begins, allocates many blocks and frees half of them, the
 * others at the end. With EARLY=thread in the environment a thread does so, from then on until the end. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SOME 100000

static void *some[SOME];

static void take(void) {
    for (size_t i = 0; i < SOME; i++) {
        char *p = malloc(1 + i % 100);
        if (p)
            *p = 1;
        some[i] = p;
    }
}

static void give(size_t first, size_t step) {
    for (size_t i = first; i < SOME; i += step)
        free(some[i]);
}

static void *for_ever(void *unused) {
    for (;;) {
        take();
        give(0, 1);
    }
    return unused;
}

static int is_threaded(void) {
    const char *how = getenv("EARLY");
    return how && strcmp(how, "thread") == 0;
}

__attribute__((constructor)) static void begin(void) {
    pthread_t thread;
    if (!is_threaded()) {
        take();
        give(0, 2);
    } else if (pthread_create(&thread, NULL, for_ever, NULL) == 0) {
        usleep(20000); /* it is amid that now */
    }
}

__attribute__((destructor)) static void end(void) {
    if (is_threaded())
        usleep(20000);
    else
        give(1, 2);
}
