/* SPDX-License-Identifier: Apache-2.0 */
/* With LIB an allocator that never takes anything back, may be interrupted anywhere, and raises SIGUSR1 amid an allocation when it
 * is asked to; without, how to ask. */
#include <signal.h>
#include <stddef.h>
#include <string.h>

void *malloc(size_t n);
void free(void *p);
extern int raise_next;

#ifdef LIB
static char pool[16 << 20] __attribute__((aligned(4096)));
static size_t used;
int raise_next;

static void *take(size_t n) {
    if (raise_next) {
        raise_next = 0;
        raise(SIGUSR1);
    }
    if (n > sizeof pool)
        return NULL;
    size_t at = __sync_fetch_and_add(&used, (n + 15) & ~15ul);
    return at + n > sizeof pool ? NULL : pool + at;
}

void *malloc(size_t n) {
    return take(n);
}

void *calloc(size_t n, size_t s) {
    return take(n * s);
}

void *realloc(void *p, size_t n) {
    void *q = take(n);
    if (p && q)
        memcpy(q, p, n);
    return q;
}

void free(void *p) {
    (void)p;
}

void *memalign(size_t a, size_t n) {
    (void)a;
    return take(n);
}
#endif
