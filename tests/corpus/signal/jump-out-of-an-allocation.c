/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: siglongjmp out of a handler that interrupted the hooks
 * Symptom: the tool is left in the middle of its work, and never comes back: locks stay held, its state says that it is
 *     still inside
 * Right: exit 0, stdout "ok": on top of an allocator that has no state to be left half-changed, 2000 jumps out of a
 *     timer's handler leave malloc, realloc and free wherever they are. The program goes on, and what it allocates
 *     afterwards is recorded.
 *
 * BUILD $CC -shared -fPIC -DLIB -fno-builtin $SRC -o $BIN.so
 * BUILD $CC $SRC -o $BIN $BIN.so -Wl,-rpath,'$ORIGIN'
 * EXPECT timing
 * EXPECT timeout 30
 * EXPECT snapshot
 * EXPECT func after_all_jumps 100 2300 0..100 0..2300
 */
#include "tests/corpus/case.h"

#include <stddef.h>

#ifdef LIB
#include <string.h>

static char pool[64 << 20] __attribute__((aligned(4096)));
static size_t used;
#define KEPT (32ul << 20)

static void *take(size_t n) {
    size_t at = __atomic_fetch_add(&used, (n + 8191 + 16) & ~8191ul, __ATOMIC_RELAXED);
    if (at >= KEPT) /* what the loader has is below, and stays */
        at = KEPT + (at - KEPT) % (sizeof pool - KEPT - 8192);
    char *p = pool + at + 16;
    if (n > (at < KEPT ? 1ul << 20 : 8000))
        return NULL;
    *(size_t *)(p - 16) = n;
    return p;
}

void *malloc(size_t n) {
    return take(n);
}

void *calloc(size_t n, size_t size) {
    void *p = take(n * size);
    return p ? memset(p, 0, n * size) : p;
}

void *memalign(size_t align, size_t n) {
    char *p = take(n + align);
    return p ? (void *)(((size_t)p + align - 1) & ~(align - 1)) : NULL;
}

void *aligned_alloc(size_t align, size_t n) {
    return memalign(align, n);
}

void *realloc(void *p, size_t n) {
    void *q = take(n);
    if (p && q)
        memcpy(q, p, n < 4000 ? n : 4000);
    return q;
}

void free(void *p) {
    (void)p;
}

size_t malloc_usable_size(void *p) {
    return p ? *(size_t *)((char *)p - 16) : 0;
}
#else
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/time.h>

static sigjmp_buf back;
static volatile sig_atomic_t jumps, armed;

static void leave(int number) {
    if (!armed)
        return;
    jumps++;
    siglongjmp(back, number);
}

NOINLINE static void *nest(int depth, size_t n) {
    void *p = depth ? nest(depth - 1, n) : malloc(n);
    KEEP(p);
    return p;
}

NOINLINE static void *after_all_jumps(void) {
    void *p = malloc(23);
    KEEP(p);
    return p;
}

int main(void) {
    struct itimerval often = {.it_interval = {.tv_usec = 300}, .it_value = {.tv_usec = 300}}, off = {0};
    struct sigaction action = {.sa_handler = leave};
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
    for (volatile unsigned i = 0; jumps < 2000;) {
        if (sigsetjmp(back, 1) == 0)
            armed = 1;
        for (;;) {
            void *p = nest((int)(i % 40), 16 + i % 300);
            i++;
            p = realloc(p, 500);
            KEEP(p);
            free(p);
            if (jumps >= 2000)
                break;
        }
        armed = 0;
    }
    armed = 0;
    setitimer(ITIMER_REAL, &off, NULL);
    for (int i = 0; i < 100; i++)
        free(after_all_jumps());
    return say_ok();
}
#endif
