/* SPDX-License-Identifier: Apache-2.0 */
/* Makes system calls of the library's fail (preload/record/sys.h), as the environment says:
 *
 *     INJECT=NUMBER:ERRNO:FIRST:COUNT    calls of that number, counted from 1, fail from the FIRST one on, COUNT of them
 *     INJECT_LOG=PATH                    gets a byte for each that did; if the file is there
 *
 * With errno 0 a call does not fail, but comes 20 ms late. With COUNT 0 none fails, and the log has a byte for each call. A forked
 * child goes on with its parent's count; a program that is executed starts a new one. For tests alone; nothing of it is in the
 * library that is shipped. */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>

#include "preload/record/atomic.h"
#include "preload/record/text.h"

static struct {
    uint64_t number, error, first, count;
} order;
static char log_path[256];
static enum { NOT_YET, READING, READY } state;
static uint64_t seen;

/* Not by sys.h: these are no calls of the library's. */
static long call(long number, long a, long b, long c, long d) {
    long ret;
    register long r10 __asm__("r10") = d;
    __asm__ volatile("syscall" : "=a"(ret) : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10) : "rcx", "r11", "memory");
    return ret;
}

static long open_file(const char *path, int flags) {
    return call(SYS_openat, AT_FDCWD, (long)path, flags | O_CLOEXEC, 0);
}

static void parse(const char *text) {
    uint64_t *field[] = {&order.number, &order.error, &order.first, &order.count};
    for (unsigned i = 0; i < sizeof field / sizeof *field; i++) {
        if (!text_number(&text, field[i]))
            order.number = UINT64_MAX;
        text += *text == ':';
    }
}

/* libc may not have the environment yet. */
static void read_order(void) {
    static char environ[1 << 16];
    long fd = open_file("/proc/self/environ", O_RDONLY), n, len = 0;
    order.number = UINT64_MAX;
    while (fd >= 0 && (n = call(SYS_read, fd, (long)(environ + len), (long)sizeof environ - 1 - len, 0)) > 0)
        len += n;
    if (fd >= 0)
        call(SYS_close, fd, 0, 0, 0);
    for (const char *at = environ; at < environ + len; at += text_length(at) + 1) {
        struct text path;
        if (text_starts(at, "INJECT="))
            parse(at + 7);
        if (text_starts(at, "INJECT_LOG=")) {
            text_init(&path, log_path, sizeof log_path);
            text_add(&path, at + 11);
        }
    }
}

static void write_log(void) {
    long fd = open_file(log_path, O_WRONLY | O_APPEND);
    if (fd < 0)
        return;
    call(SYS_write, fd, (long)"x", 1, 0);
    call(SYS_close, fd, 0, 0, 0);
}

HIDDEN long sys_fault(long number);
long sys_fault(long number) {
    int idle = NOT_YET;
    if (cas_acq_rel((int *)&state, &idle, READING)) {
        read_order();
        store_release(&state, READY);
    }
    if (load_acquire(&state) != READY || (uint64_t)number != order.number)
        return 0;
    uint64_t n = add_relaxed(&seen, 1u) + 1;
    int fails = n >= order.first && n - order.first < order.count;
    if (fails || !order.count)
        write_log();
    if (fails && !order.error) {
        const struct timespec pause = {.tv_nsec = 20000000};
        call(SYS_nanosleep, (long)&pause, 0, 0, 0);
    }
    return fails ? -(long)order.error : 0;
}

HIDDEN long __real_clone_call(unsigned long flags, char *stack_top, void (*fn)(void *), void *arg);
HIDDEN long __wrap_clone_call(unsigned long flags, char *stack_top, void (*fn)(void *), void *arg);
long __wrap_clone_call(unsigned long flags, char *stack_top, void (*fn)(void *), void *arg) {
    long fault = sys_fault(SYS_clone);
    return fault ? fault : __real_clone_call(flags, stack_top, fn, arg);
}
