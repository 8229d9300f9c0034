/* SPDX-License-Identifier: Apache-2.0 */
/* System calls, made directly: the program may interpose libc's wrappers, and these neither touch errno nor are
 * cancellation points. Every function returns the kernel's answer: 0 or positive, or -errno.
 *
 * The unit tests are built with CPROF_FAULTS: each call then first asks their sys_fault() whether to fail instead. */
#ifndef CPROF_RECORD_SYS_H
#define CPROF_RECORD_SYS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>

#ifdef CPROF_FAULTS
__attribute__((visibility("hidden"))) long sys_fault(long nr); /* 0, or the -errno that this call shall give */
#else
#define sys_fault(nr) 0L
#endif

static inline long sys6(long nr, long a, long b, long c, long d, long e, long f) {
    long ret = sys_fault(nr);
    if (ret)
        return ret;
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;
    __asm__ volatile("syscall"
                     : "=a"(ret)
                     : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return ret;
}
#define sys1(nr, a) sys6(nr, (long)(a), 0, 0, 0, 0, 0)
#define sys2(nr, a, b) sys6(nr, (long)(a), (long)(b), 0, 0, 0, 0)
#define sys3(nr, a, b, c) sys6(nr, (long)(a), (long)(b), (long)(c), 0, 0, 0)
#define sys4(nr, a, b, c, d) sys6(nr, (long)(a), (long)(b), (long)(c), (long)(d), 0, 0)

static inline int sys_failed(long ret) {
    return (unsigned long)ret > -4096ul;
}

static inline void *sys_mmap(void *at, size_t len, int prot, int flags, int fd, long offset) {
    return (void *)sys6(SYS_mmap, (long)at, (long)len, prot, flags, fd, offset);
}
static inline long sys_munmap(void *at, size_t len) {
    return sys2(SYS_munmap, at, len);
}
static inline long sys_mprotect(void *at, size_t len, int prot) {
    return sys3(SYS_mprotect, at, len, prot);
}
static inline long sys_madvise(void *at, size_t len, int advice) {
    return sys3(SYS_madvise, at, len, advice);
}
static inline long sys_open(const char *path, int flags, int mode) {
    return sys4(SYS_openat, -100 /* AT_FDCWD */, path, flags, mode);
}
static inline long sys_close(int fd) {
    return sys1(SYS_close, fd);
}
static inline long sys_read(int fd, void *buf, size_t len) {
    return sys3(SYS_read, fd, buf, len);
}
static inline long sys_write(int fd, const void *buf, size_t len) {
    return sys3(SYS_write, fd, buf, len);
}
static inline int sys_getpid(void) {
    return (int)sys1(SYS_getpid, 0);
}

#endif
