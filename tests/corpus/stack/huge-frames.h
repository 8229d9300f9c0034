/* SPDX-License-Identifier: Apache-2.0 */
/* Functions with huge frames, compiled once for each PART (a suffix of their names), and without one the program that calls
 * them on stacks of all kinds. */
#include "tests/corpus/case.h"

#include <alloca.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <ucontext.h>

#define MIB (1ul << 20)
#define ROUNDS 10

#ifdef PART

#define JOIN(a, b) a##b
#define WITH(a, b) JOIN(a, b)
#define NAME(name) WITH(name, PART)

/* A function `name` with `array` in its frame, and the one that it calls, which allocates. */
#define HUGE_FRAME(name, array)                                                                                        \
    NOINLINE static void NAME(in_##name)(void) {                                                                       \
        void *p = malloc(100);                                                                                         \
        KEEP(p);                                                                                                       \
        free(p);                                                                                                       \
    }                                                                                                                  \
    NOINLINE static void NAME(name)(void) {                                                                            \
        array;                                                                                                         \
        char *p = room;                                                                                                \
        KEEP(p);                                                                                                       \
        NAME(in_##name)();                                                                                             \
        KEEP(p);                                                                                                       \
    }
HUGE_FRAME(one, char room[20 * MIB])
HUGE_FRAME(vast, char room[300 * MIB])
HUGE_FRAME(dynamic, char *room = alloca(30 * MIB))
HUGE_FRAME(aligned, char room[20 * MIB] __attribute__((aligned(64))))

NOINLINE static void NAME(two)(void) {
    char room[12 * MIB], *p = room;
    KEEP(p);
    NAME(one)();
    KEEP(p);
}

/* The first sample of a stack may be in any of them, and what is known of it by then differs. */
void NAME(all)(void) {
    for (int i = 0; i < ROUNDS; i++) {
        NAME(one)();
        NAME(two)();
        NAME(vast)();
        NAME(dynamic)();
        NAME(aligned)();
    }
    __asm__ volatile("");
}

#else

void all_plain(void);
void all_pointers(void);

#define STACK (600 * MIB)

NOINLINE static void both(void) {
    all_plain();
    all_pointers();
    __asm__ volatile("");
}

static void *on_thread(void *unused) {
    both();
    KEEP(unused);
    return unused;
}

static ucontext_t here, coroutine;

static void on_coroutine(void) {
    both();
    __asm__ volatile("");
}

static int call_on_coroutine(void) {
    char *at = mmap(NULL, STACK + 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED || mprotect(at + 4096, STACK, PROT_READ | PROT_WRITE) || getcontext(&coroutine))
        return 0;
    coroutine.uc_stack.ss_sp = at + 4096;
    coroutine.uc_stack.ss_size = STACK;
    coroutine.uc_link = &here;
    makecontext(&coroutine, on_coroutine, 0);
    return !swapcontext(&here, &coroutine);
}

int main(int argc, char **argv) {
    struct rlimit limit;
    (void)argc;
    getrlimit(RLIMIT_STACK, &limit);
    if (limit.rlim_cur != RLIM_INFINITY) {
        limit.rlim_cur = limit.rlim_max = RLIM_INFINITY;
        if (setrlimit(RLIMIT_STACK, &limit)) {
            static const char why[] = "the stack can't be unlimited";
            return write(2, why, sizeof why - 1) > 0 ? 77 : 1;
        }
        execv("/proc/self/exe", argv);
        return 2;
    }
    pthread_attr_t attributes;
    pthread_t thread;
    pthread_attr_init(&attributes);
    if (pthread_attr_setstacksize(&attributes, STACK) || pthread_create(&thread, &attributes, on_thread, NULL) ||
        pthread_join(thread, NULL))
        return 3;
    both();
    return call_on_coroutine() ? say_ok() : 4;
}

#endif
