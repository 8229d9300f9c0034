/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/record_helpers.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>

#include "preload/record/sampler.h"
#include "preload/record/segment.h"

#define MAX_THREADS 64

static pthread_barrier_t barrier;

struct job {
    void (*fn)(unsigned);
    unsigned number;
};

static void *start(void *arg) {
    struct job *job = arg;
    pthread_barrier_wait(&barrier);
    job->fn(job->number);
    return NULL;
}

void test_threads(unsigned n, void (*fn)(unsigned)) {
    pthread_t thread[MAX_THREADS];
    struct job job[MAX_THREADS];
    if (n > MAX_THREADS || pthread_barrier_init(&barrier, NULL, n) != 0) {
        printf("Bail out! no %u threads\n", n);
        exit(1);
    }
    for (unsigned i = 0; i < n; i++) {
        job[i] = (struct job){fn, i};
        if (pthread_create(&thread[i], NULL, start, &job[i]) != 0) {
            printf("Bail out! no thread\n");
            exit(1);
        }
    }
    for (unsigned i = 0; i < n; i++)
        pthread_join(thread[i], NULL);
    pthread_barrier_destroy(&barrier);
}

uint64_t test_seed(void) {
    const char *given = getenv("TEST_SEED");
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    uint64_t seed = given ? strtoull(given, NULL, 0) : (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
    printf("# TEST_SEED=%llu\n", (unsigned long long)seed);
    return seed;
}

/* xorshift64*: not the generator that is under test. */
uint64_t test_random(uint64_t *state) {
    uint64_t x = *state ? *state : 88172645463325252u;
    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
    *state = x;
    return x * 0x2545f4914f6cdd1du;
}

static long failing_nr;
static int failing_err;
static uint32_t failing_after, failing_times;

void test_fail_syscall(long nr, int err, unsigned after, unsigned times) {
    failing_nr = nr;
    failing_err = err;
    failing_after = after;
    failing_times = times;
}

/* Called by preload/record/sys.h before each system call. */
long sys_fault(long nr);
long sys_fault(long nr) {
    if (!failing_times || nr != failing_nr)
        return 0;
    if (failing_after) {
        failing_after--;
        return 0;
    }
    failing_times--;
    return -failing_err;
}

void test_segment(void) {
    /* No file: it would outlive a test that fails. */
    test_fail_syscall(SYS_mkdir, EPERM, 0, TEST_ALWAYS);
    struct segment_identity who = {.uid = 0xfffffffe, .pid = 1, .start_ticks = 1};
    int ret = segment_create(&who, UINT64_MAX);
    test_fail_syscall(0, 0, 0, 0);
    if (ret < 0) {
        printf("Bail out! no segment: %d\n", ret);
        exit(1);
    }
}

/* Of intercept/entry.S, which output.c writes on: here the test's own stack does. */
void stack_call(char *top, void (*fn)(void *), void *arg);
void stack_call(char *top, void (*fn)(void *), void *arg) {
    (void)top;
    fn(arg);
}
