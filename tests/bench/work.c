/* SPDX-License-Identifier: Apache-2.0 */
/* Work for an allocator to do, which times itself: `work KIND OPERATIONS`.
 *
 * Prints lines `key value`: ns (of wall time for an operation, start-up and exit left out), cpu (the same of the main
 * thread's processor time, where it does all the work), peak_kib until then, end_ns, when it was through, and
 * end_cpu_ns. With OPERATIONS 0 the same without the loop, for those who count instructions. */
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))

static double clock_ns(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}
static double now(void) {
    return clock_ns(CLOCK_MONOTONIC);
}

/* Not malloc's attributes: what is allocated must not be optimized away. */
static void *volatile sink;

static void *get(size_t size) {
    void *p = malloc(size);
    if (!p) {
        fputs("work: out of memory\n", stderr);
        _exit(1);
    }
    return p;
}

static NOINLINE void pairs(long n) {
    for (long i = 0; i < n; i++) {
        void *p = get(64);
        sink = p;
        free(p);
    }
}

/* xorshift64: Marsaglia, "Xorshift RNGs", 2003. */
static uint64_t random_next(uint64_t *x) {
    *x ^= *x << 13;
    *x ^= *x >> 7;
    return *x ^= *x << 17;
}

/* ---- Random sizes over many live blocks, in one thread or two ---- */

enum { SLOTS = 10000 };
struct slots_work {
    pthread_t thread;
    pthread_barrier_t *start;
    long n;
    uint64_t seed;
    double began, ended;
};

static void *slots_run(void *arg) {
    struct slots_work *w = arg;
    uint64_t x = w->seed;
    void **slot = get(SLOTS * sizeof *slot);
    for (int i = 0; i < SLOTS; i++)
        slot[i] = get(16 + random_next(&x) % 1009);
    pthread_barrier_wait(w->start);
    w->began = now();
    for (long i = 0; i < w->n; i++) {
        uint64_t r = random_next(&x);
        void **s = &slot[r % SLOTS];
        free(*s);
        *s = get(16 + (r >> 32) % 1009);
    }
    w->ended = now();
    pthread_barrier_wait(w->start);
    for (int i = 0; i < SLOTS; i++)
        free(slot[i]);
    free(slot);
    return NULL;
}

/* ns is for each pair of one thread; throughput is threads / ns. */
static double slots(int threads, long n) {
    struct slots_work w[2];
    pthread_barrier_t start;
    pthread_barrier_init(&start, NULL, (unsigned)threads);
    for (int i = 0; i < threads; i++) {
        w[i] = (struct slots_work){.start = &start, .n = n, .seed = 88172645463325252u + (unsigned)i};
        if (pthread_create(&w[i].thread, NULL, slots_run, &w[i]) != 0)
            exit(1);
    }
    double first = 0, last = 0;
    for (int i = 0; i < threads; i++) {
        pthread_join(w[i].thread, NULL);
        first = i == 0 || w[i].began < first ? w[i].began : first;
        last = w[i].ended > last ? w[i].ended : last;
    }
    return (last - first) / (double)(n ? n : 1);
}

/* ---- Deep stacks ---- */

static NOINLINE void deep(int frames, void (*leaf)(long), long n) {
    if (frames > 1)
        deep(frames - 1, leaf, n);
    else
        leaf(n);
    __asm__ volatile("");
}

/* Two functions with frames of different sizes; which of them stands at which level is told by the bits of `path`. So
 * two paths that differ at the outer end have their frames at different addresses from there on. */
static NOINLINE void narrow(int frames, uint64_t path, void (*leaf)(size_t), size_t size);
static NOINLINE void wide(int frames, uint64_t path, void (*leaf)(size_t), size_t size);

static inline void descend(int frames, uint64_t path, void (*leaf)(size_t), size_t size) {
    if (frames == 0)
        leaf(size);
    else if (path & 1)
        wide(frames - 1, path >> 1, leaf, size);
    else
        narrow(frames - 1, path >> 1, leaf, size);
}
static NOINLINE void narrow(int frames, uint64_t path, void (*leaf)(size_t), size_t size) {
    descend(frames, path, leaf, size);
    __asm__ volatile("");
}
static NOINLINE void wide(int frames, uint64_t path, void (*leaf)(size_t), size_t size) {
    char room[48];
    __asm__ volatile("" : : "r"(room) : "memory");
    descend(frames, path, leaf, size);
    __asm__ volatile("" : : "r"(room) : "memory");
}

static NOINLINE void leaf_pair(size_t size) {
    void *p = get(size);
    sink = p;
    free(p);
}

/* 64 paths, drawn once. `outer` of their levels differ from path to path, the others are `narrow` in all of them. */
static void stacks(long n, int frames, int outer) {
    uint64_t x = 88172645463325252u, path[64];
    for (int i = 0; i < 64; i++)
        path[i] = (random_next(&x) >> 8 << 6 | (unsigned)i) & ((1ull << outer) - 1);
    for (long i = 0; i < n; i++)
        descend(frames, path[i % 64], leaf_pair, 64);
}

/* ---- A large live heap from many call paths ---- */

struct block {
    struct block *next;
    char rest[92];
};
static struct block *chain;

static NOINLINE void leaf_keep(size_t size) {
    struct block *b = get(size);
    b->next = chain;
    chain = b;
}

/* One-line values of /proc/self/status, in KiB. */
static long status(const char *key) {
    char line[256];
    long value = -1;
    FILE *f = fopen("/proc/self/status", "r");
    size_t len = strlen(key);
    while (f && value < 0 && fgets(line, sizeof line, f))
        if (strncmp(line, key, len) == 0 && line[len] == ':')
            value = strtol(line + len + 1, NULL, 10);
    if (f)
        fclose(f);
    return value;
}

/* 2,000 paths, 11 frames deep. */
static void paths(long n) {
    for (long i = 0; i < n; i++)
        descend(11, (uint64_t)(i * 769 % 2000), leaf_keep, 100);
}

/* ---- One thread allocates, another frees ---- */

enum { RING = 4096 };
static struct { void *volatile slot[RING]; } ring;

static void *consume(void *arg) {
    for (long i = 0, n = *(long *)arg; i < n; i++) {
        void *p;
        while (!(p = __atomic_load_n(&ring.slot[i % RING], __ATOMIC_ACQUIRE)))
            sched_yield();
        __atomic_store_n(&ring.slot[i % RING], NULL, __ATOMIC_RELEASE);
        free(p);
    }
    return NULL;
}

static void handoff(long n) {
    pthread_t t;
    if (pthread_create(&t, NULL, consume, &n) != 0)
        exit(1);
    for (long i = 0; i < n; i++) {
        void *p = get(64);
        while (__atomic_load_n(&ring.slot[i % RING], __ATOMIC_ACQUIRE))
            sched_yield();
        __atomic_store_n(&ring.slot[i % RING], p, __ATOMIC_RELEASE);
    }
    pthread_join(t, NULL);
}

/* ---- Short threads ---- */

static void *short_thread(void *arg) {
    pairs(1);
    return arg;
}
static void threads(long n) {
    for (long i = 0; i < n; i++) {
        pthread_t t;
        if (pthread_create(&t, NULL, short_thread, NULL) != 0)
            exit(1);
        pthread_join(t, NULL);
    }
}

/* ---- Much to write at the end ---- */

/* n different stacks, 30 deep. */
static void many_stacks(long n) {
    for (long i = 0; i < n; i++)
        descend(30, (uint64_t)i, leaf_pair, 64);
}
/* 1,000 stacks, and n / 1,000 sizes asked for at each. */
static void many_buckets(long n) {
    for (long i = 0; i < n; i++)
        descend(10, (uint64_t)(i % 1000), leaf_pair, (size_t)(i / 1000 + 1));
}

static const char *kind;
static int is(const char *name) {
    return strcmp(kind, name) == 0;
}

int main(int argc, char **argv) {
    if (argc != 3) {
        fputs("usage: work pair|slots1|slots2|deep|paths|handoff|stacks|stacks-outer|threads|exit-stacks|exit-buckets "
              "N\n",
              stderr);
        return 2;
    }
    kind = argv[1];
    long n = strtol(argv[2], NULL, 10);
    double start = now(), start_cpu = clock_ns(CLOCK_THREAD_CPUTIME_ID), ns = -1;
    int alone = 1;
    if (is("pair"))
        pairs(n);
    else if (is("slots1"))
        ns = slots(1, n), alone = 0;
    else if (is("slots2"))
        ns = slots(2, n), alone = 0;
    else if (is("deep"))
        deep(40, pairs, n);
    else if (is("paths"))
        paths(n);
    else if (is("handoff"))
        handoff(n), alone = 0;
    else if (is("stacks"))
        stacks(n, 40, 40);
    else if (is("stacks-outer"))
        stacks(n, 40, 6);
    else if (is("threads"))
        threads(n), alone = 0;
    else if (is("exit-stacks"))
        many_stacks(n);
    else if (is("exit-buckets"))
        many_buckets(n);
    else
        return 2;
    double cpu = (clock_ns(CLOCK_THREAD_CPUTIME_ID) - start_cpu) / (double)(n ? n : 1);
    if (ns < 0)
        ns = (now() - start) / (double)(n ? n : 1);
    printf("ns %.3f\ncpu %.3f\n", ns, alone ? cpu : ns);
    printf("peak_kib %ld\n", status("VmHWM"));
    printf("end_cpu_ns %.0f\nend_ns %.0f\n", clock_ns(CLOCK_PROCESS_CPUTIME_ID), now());
    return 0;
}
