/* SPDX-License-Identifier: Apache-2.0 */
/* hammer SECONDS THREADS: threads that call every function of the malloc family, as fast as they can, and hand each
 * other blocks to free. Prints what they did, by their own count, and what the library counted meanwhile:
 *
 *     did ALLOCATED-BYTES BLOCKS IN-USE-BYTES BLOCKS     all in functions named hammer_...
 *     counted BYTES CALLS                                         cprof_get_stats at the end less at the beginning
 *     total BYTES CALLS                                           cprof_get_stats at the end */
#include <pthread.h>
#include <time.h>

#include "tests/system/hammer.h"

static atomic_int stop;
static pthread_barrier_t start, end;

static void *work(void *arg) {
    struct worker *w = arg;
    pthread_barrier_wait(&start);
    while (!stop) {
        for (unsigned i = 0; i < 256; i++)
            take_and_put(w);
        odd_calls(w);
    }
    pthread_barrier_wait(&end);
    return NULL;
}

int main(int argc, char **argv) {
    static char buffer[4096];
    static struct worker workers[64];
    static pthread_t threads_of[64];
    double seconds = argc > 1 ? atof(argv[1]) : 1;
    int threads = argc > 2 ? atoi(argv[2]) : 8;
    struct count sum = {0};
    setvbuf(stdout, buffer, _IOFBF, sizeof buffer);
    if (threads < 1 || threads > 64)
        return 2;
    pthread_barrier_init(&start, NULL, (unsigned)threads + 1);
    pthread_barrier_init(&end, NULL, (unsigned)threads + 1);
    for (int i = 0; i < threads; i++) {
        workers[i].random = (uint64_t)i + 1;
        if (pthread_create(&threads_of[i], NULL, work, &workers[i]) != 0)
            return 2;
    }
    /* The last of them allocated for its own start before it got here. */
    nanosleep(&(struct timespec){0, 50000000}, NULL);
    struct cprof_stats before = stats();
    pthread_barrier_wait(&start);
    nanosleep(&(struct timespec){(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)}, NULL);
    stop = 1;
    pthread_barrier_wait(&end);
    struct cprof_stats after = stats();
    for (int i = 0; i < threads; i++) {
        pthread_join(threads_of[i], NULL);
        add_counts(&sum, &workers[i].count);
    }
    check_slots();
    print_did(&sum);
    printf("counted %lu %lu\n", after.alloc_bytes - before.alloc_bytes, after.alloc_calls - before.alloc_calls);
    after = stats();
    printf("total %lu %lu\n", after.alloc_bytes, after.alloc_calls);
    return 0;
}
