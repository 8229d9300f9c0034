/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: memory growth of the profiler itself (many threads, one after the other)
 * Symptom: what is kept for each thread is never given back: a server that starts a thread for each request grows
 * Right: exit 0, stdout "ok": 30000 threads, two at a time, allocate one block each; all are counted, and the program's
 *     resident size grows by less than 16 MiB.
 *
 * BUILD $CC -pthread $SRC -o $BIN
 * EXPECT timeout 40
 * EXPECT func once_in_a_thread 30000 1500000 0 0
 */
#include "tests/corpus/case.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>

NOINLINE static void *once_in_a_thread(void) {
    void *p = malloc(50);
    KEEP(p);
    return p;
}

static void *run(void *arg) {
    free(once_in_a_thread());
    return arg;
}

/* In pages, without stdio. */
static long resident(void) {
    char text[128] = "";
    int fd = open("/proc/self/statm", O_RDONLY);
    if (fd < 0 || read(fd, text, sizeof text - 1) <= 0)
        return 0;
    close(fd);
    char *second;
    strtol(text, &second, 10);
    return strtol(second, NULL, 10);
}

int main(void) {
    long first = 0;
    for (int i = 0; i < 15000; i++) {
        pthread_t t[2];
        if (i == 500)
            first = resident();
        for (int k = 0; k < 2; k++)
            if (pthread_create(&t[k], NULL, run, NULL))
                return 1;
        for (int k = 0; k < 2; k++)
            pthread_join(t[k], NULL);
    }
    return resident() - first < 4096 ? say_ok() : 2;
}
