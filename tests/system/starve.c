/* SPDX-License-Identifier: Apache-2.0 */
/* A program that needs memory: allocates COUNT blocks of SIZE bytes, keeps them, and says how many it got, and how much address
 * space it has in use before that, in KiB.
 *
 *     starve COUNT SIZE [early|thread]
 *
 * By the time main begins a constructor has allocated some and freed them again (early), or a thread that it started is at
 * doing so until the end (thread). */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SOME 100000

__attribute__((noipa)) static void *take(size_t size) {
    char *p = malloc(size);
    if (p)
        *p = 1;
    return p;
}

static void come_and_go(void) {
    static void *some[SOME];
    for (size_t i = 0; i < SOME; i++)
        some[i] = take(i % 100);
    for (size_t i = 0; i < SOME; i++)
        free(some[i]);
}

static void *for_ever(void *unused) {
    (void)unused;
    for (;;)
        come_and_go();
    return NULL;
}

__attribute__((constructor)) static void begin(int argc, char **argv) {
    pthread_t thread;
    if (argc > 3 && strcmp(argv[3], "early") == 0)
        come_and_go();
    if (argc > 3 && strcmp(argv[3], "thread") == 0)
        pthread_create(&thread, NULL, for_ever, NULL);
}

static unsigned long in_use(void) {
    unsigned long pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (f && fscanf(f, "%lu", &pages) != 1)
        pages = 0;
    if (f)
        fclose(f);
    return pages * 4;
}

int main(int argc, char **argv) {
    char line[64];
    if (argc < 3)
        return 2;
    unsigned long got = 0, before = in_use();
    size_t size = strtoul(argv[2], NULL, 10);
    for (long i = strtol(argv[1], NULL, 10); i > 0; i--)
        got += take(size) != NULL;
    int len = snprintf(line, sizeof line, "%lu %lu\n", got, before);
    if (write(1, line, (size_t)len) != len)
        return 1;
    if (argc > 3 && strcmp(argv[3], "thread") == 0)
        usleep(50000); /* it goes on for a while */
    return 0;
}
