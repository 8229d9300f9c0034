/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: start-up recursion (the program itself interposes libc calls the profiler uses)
 * Report: https://github.com/jemalloc/jemalloc/issues/329
 * Symptom: the application's own mmap()/open() wrapper calls dlsym and malloc; the allocator deadlocks while starting
 * Right: exit 0, stdout "ok". mmap/munmap/open/openat/write/read/close are exported by the executable, so a profiler
 *     calling them by name lands in these wrappers, which malloc. No recursion, no hang; and the counter of mmap calls
 *     seen by the wrapper after start-up does not change over plain small mallocs (the profiler should reach the kernel
 *     by its own system calls).
 *
 * BUILD $CC $SRC -o $BIN -Wl,--export-dynamic
 * EXPECT timeout 5
 * EXPECT func app_leaf 1000 32000 0 0
 */
#include "tests/corpus/case.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/mman.h>

static volatile int calls;

static void touch(void) {
    void *p = malloc(24);
    KEEP(p);
    free(p);
    calls++;
}

#define REAL(ret, name, ...)                                                                                           \
    static ret (*real)(__VA_ARGS__);                                                                                   \
    if (!real)                                                                                                         \
    real = (ret(*)(__VA_ARGS__))dlsym(RTLD_NEXT, name)

void *mmap(void *a, size_t l, int p, int f, int fd, off_t o) {
    REAL(void *, "mmap", void *, size_t, int, int, int, off_t);
    touch();
    return real(a, l, p, f, fd, o);
}

int munmap(void *a, size_t l) {
    REAL(int, "munmap", void *, size_t);
    touch();
    return real(a, l);
}

ssize_t write(int fd, const void *b, size_t n) {
    REAL(ssize_t, "write", int, const void *, size_t);
    touch();
    return real(fd, b, n);
}

ssize_t read(int fd, void *b, size_t n) {
    REAL(ssize_t, "read", int, void *, size_t);
    touch();
    return real(fd, b, n);
}

int close(int fd) {
    REAL(int, "close", int);
    touch();
    return real(fd);
}

int open(const char *path, int flags, ...) {
    va_list ap;
    va_start(ap, flags);
    int mode = va_arg(ap, int);
    va_end(ap);
    REAL(int, "open", const char *, int, ...);
    touch();
    return real(path, flags, mode);
}

int openat(int d, const char *path, int flags, ...) {
    va_list ap;
    va_start(ap, flags);
    int mode = va_arg(ap, int);
    va_end(ap);
    REAL(int, "openat", int, const char *, int, ...);
    touch();
    return real(d, path, flags, mode);
}

NOINLINE static void *app_leaf(void) {
    void *p = malloc(32);
    KEEP(p);
    return p;
}

int main(void) {
    int before = calls;
    for (int i = 0; i < 1000; i++)
        free(app_leaf());
    if (calls != before)
        return 5;
    return say_ok();
}
