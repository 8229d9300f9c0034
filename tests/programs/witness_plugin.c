/* SPDX-License-Identifier: Apache-2.0 */
/* A second witness of what a program allocates, preloaded behind the profiler or alone: counts calls and bytes of malloc's
 * family and nothing else, by other means than the profiler does.
 *
 * Each process has a file of its own in WITNESS_DIR (@PID.0; after an exec, @PID.1), mapped: however it ends, what was counted
 * by then is there. A forked child finds that it is one by memory that the kernel wipes at forks, so that no kind of fork is
 * missed; one that shares its parent's memory (vfork) counts as its parent, as it does for the profiler. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* As matrix.py reads it. */
struct counts {
    uint64_t calls, bytes, frees;
};

static struct counts **mine; /* in a page of its own, that is zero in a new child */

static void *map(size_t size, int flags, int fd) {
    void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, flags, fd, 0);
    if (p == MAP_FAILED)
        abort();
    return p;
}

static int own_file(void) {
    const char *dir = getenv("WITNESS_DIR");
    for (int n = 0; dir && n < 10000; n++) {
        char path[512];
        snprintf(path, sizeof path, "%s/@%d.%d", dir, (int)getpid(), n);
        int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd >= 0 || errno != EEXIST)
            return fd;
    }
    return -1;
}

static struct counts *begin(void) {
    int had = errno, fd = own_file();
    /* Where there is no file the counts go nowhere, and the sums won't match. */
    int file = fd >= 0 && ftruncate(fd, sizeof(struct counts)) == 0;
    struct counts *counts = map(sizeof *counts, file ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS, file ? fd : -1);
    if (fd >= 0)
        close(fd);
    errno = had;
    return counts;
}

static struct counts *counts(void) {
    if (!mine) {
        struct counts **page = map(4096, MAP_PRIVATE | MAP_ANONYMOUS, -1);
        madvise(page, 4096, MADV_WIPEONFORK);
        mine = page;
    }
    if (!*mine)
        *mine = begin();
    return *mine;
}

/* While the profiler loads its other half the loader allocates for it, which is no doing of the program's. */
static __thread int paused __attribute__((tls_model("initial-exec")));

static void *allocated(void *p, size_t size) {
    if (p && !paused) {
        struct counts *c = counts();
        __atomic_fetch_add(&c->calls, 1, __ATOMIC_RELAXED);
        __atomic_fetch_add(&c->bytes, size, __ATOMIC_RELAXED);
    }
    return p;
}

static void freed(void) {
    if (!paused)
        __atomic_fetch_add(&counts()->frees, 1, __ATOMIC_RELAXED);
}

/* Of glibc's, dlsym does not allocate when it finds something. */
#define NEXT(type, name, ...)                                                                                          \
    static type (*next)(__VA_ARGS__);                                                                                  \
    if (!next)                                                                                                         \
        *(void **)&next = dlsym(RTLD_NEXT, #name)

void *malloc(size_t size) {
    NEXT(void *, malloc, size_t);
    return allocated(next(size), size);
}

void free(void *p) {
    NEXT(void, free, void *);
    if (p)
        freed();
    next(p);
}

void *calloc(size_t n, size_t size) {
    NEXT(void *, calloc, size_t, size_t);
    return allocated(next(n, size), n * size);
}

void *realloc(void *p, size_t size) {
    NEXT(void *, realloc, void *, size_t);
    void *q = next(p, size);
    if (p && (q || !size)) /* glibc's frees the block if the size is 0 */
        freed();
    return allocated(q, size);
}

int posix_memalign(void **p, size_t align, size_t size) {
    NEXT(int, posix_memalign, void **, size_t, size_t);
    int ret = next(p, align, size);
    if (ret == 0)
        allocated(*p, size);
    return ret;
}

void *aligned_alloc(size_t align, size_t size) {
    NEXT(void *, aligned_alloc, size_t, size_t);
    return allocated(next(align, size), size);
}

void *memalign(size_t align, size_t size);
void *memalign(size_t align, size_t size) {
    NEXT(void *, memalign, size_t, size_t);
    return allocated(next(align, size), size);
}

void *valloc(size_t size) {
    NEXT(void *, valloc, size_t);
    return allocated(next(size), size);
}

void *pvalloc(size_t size);
void *pvalloc(size_t size) {
    NEXT(void *, pvalloc, size_t);
    return allocated(next(size), size);
}

/* The loader looks at the return address to know whose call it is: all but one are left with a jump. */
__attribute__((optimize("optimize-sibling-calls"))) void *dlopen(const char *path, int flags) {
    NEXT(void *, dlopen, const char *, int);
    if (!path || !strstr(path, "/libcprof-backend.so"))
        return next(path, flags);
    paused++;
    void *handle = next(path, flags);
    paused--;
    return handle;
}
