/* SPDX-License-Identifier: Apache-2.0 */
#include "preload/intercept/symbolize.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stddef.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "preload/record/loader.h"
#include "preload/record/log.h"
#include "preload/record/memory.h"
#include "preload/record/name.h"
#include "preload/record/sys.h"
#include "preload/record/text.h"

/* clone(2) with a stack; the new process calls fn(arg) and ends. In entry.S. */
HIDDEN long clone_call(unsigned long flags, char *stack_top, void (*fn)(void *), void *arg);

/* Variables that the command and libc heed. All others stay behind: LD_PRELOAD first of all, and DEBUGINFOD_URLS, since the end
 * of a program is no time to ask the network (`cprof symbolize` by hand does). */
static const char *const wanted[] = {"PATH=", "HOME=", "TMPDIR=", "LANG=", "LC_ALL="};
#define VARIABLES 24
static char environment[8192]; /* copies: programs write over the original to change their title */
static char *variables[VARIABLES + 1];
static const char *search_path = "/usr/local/bin:/usr/bin:/bin";

void symbolize_init(char *const *env) {
    struct text all;
    unsigned n = 0;
    text_init(&all, environment, sizeof environment);
    for (; env && *env && n < VARIABLES; env++)
        for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
            if (!text_starts(*env, wanted[i]) || all.len + text_length(*env) + 1 >= sizeof environment)
                continue;
            variables[n++] = environment + all.len;
            if (text_starts(*env, "PATH="))
                search_path = environment + all.len + 5;
            text_add(&all, *env);
            all.len++; /* keeps the zero */
            all.at[all.len] = 0;
            break;
        }
}

static int try(struct text *path, const char *dir, size_t dir_len, const char *rest) {
    struct stat st;
    path->len = 0;
    path->cut = 0;
    text_add_bytes(path, dir, dir_len);
    text_add(path, rest);
    return !path->cut && sys4(SYS_newfstatat, AT_FDCWD, path->at, &st, 0) == 0 && S_ISREG(st.st_mode) &&
           sys3(SYS_faccessat, AT_FDCWD, path->at, X_OK) == 0;
}

/* Beside the library, in the bin directory of the prefix that it was installed to, or in PATH. */
static int find_command(struct text *path) {
    static const char here;
    const char *us = loader_file(&here);
    size_t before = (size_t)(text_basename(us) - us);
    if (us[0] && (try(path, us, before, "cprof") || try(path, us, before, "../bin/cprof") ||
                  try(path, us, before, "../../bin/cprof")))
        return 1;
    for (const char *dir = search_path; *dir;) {
        size_t len = 0;
        while (dir[len] && dir[len] != ':')
            len++;
        if (dir[0] == '/' && try(path, dir, len, "/cprof"))
            return 1;
        dir += len + (dir[len] == ':');
    }
    return 0;
}

#define STACK (32ul << 10)
#define MEMORY_MAX (3ul << 30)
struct order {
    char command[4096];
    char profile[NAME_ROOM];
    char between[STACK], command_stack[STACK];
};

/* Nobody watches the command when the program has ended: a file that makes it grow without end must not take the machine's memory.
 * (A copy that it makes of a debug file is of a gigabyte at most.) */
static void limit_memory(void) {
    struct rlimit limit, most = {MEMORY_MAX, MEMORY_MAX};
    if (sys4(SYS_prlimit64, 0, RLIMIT_AS, 0, &limit) == 0 && limit.rlim_cur > MEMORY_MAX)
        sys4(SYS_prlimit64, 0, RLIMIT_AS, &most, 0);
}

static void run_command(void *p) {
    struct order *o = p;
    uint64_t none = 0;
    char *argv[] = {"cprof", "symbolize", "--quiet", "--timeout", "60", o->profile, NULL};
    sys1(SYS_setsid, 0);
    /* A pipe's writing end that stayed open here would keep its reader waiting. */
    if (sys3(SYS_close_range, 0, ~0u, 0) < 0)
        for (int fd = 0; fd < 1024; fd++)
            sys_close(fd);
    sys_open("/dev/null", O_RDWR, 0);
    sys1(SYS_dup, 0);
    sys1(SYS_dup, 0);
    sys4(SYS_rt_sigprocmask, 2 /* SIG_SETMASK */, &none, 0, 8);
    limit_memory();
    sys3(SYS_execve, o->command, argv, variables);
}

/* The process in between. It executes nothing, so that it never comes to have a signal for its end, as the kernel gives to any
 * program; and it stays until the command is done, so that nobody has to adopt that one. All signals are blocked in it. */
static void start_command(void *p) {
    struct order *o = p;
    long pid = clone_call(CLONE_VM | CLONE_VFORK, o->command_stack + STACK, run_command, o);
    if (pid > 0)
        while (sys4(SYS_wait4, pid, 0, __WALL, 0) == -EINTR)
            ;
}

/* 1 if it ended in time. */
static int wait_for(long pid) {
    int fd = (int)sys2(SYS_pidfd_open, pid, 0);
    if (fd < 0)
        return 0;
    struct pollfd ended = {.fd = fd, .events = POLLIN};
    struct timespec limit = {.tv_sec = SYMBOLIZE_WAIT};
    long n;
    while ((n = sys6(SYS_ppoll, (long)&ended, 1, (long)&limit, 0, 8, 0)) == -EINTR)
        ; /* the kernel has taken off what went by */
    sys_close(fd);
    return n == 1;
}

/* Those that were not waited for: their stacks are still in use, and they must not stay as zombies for a long life. */
#define UNREAPED 8
static struct {
    long pid;
    struct order *order;
} unreaped[UNREAPED];

/* 0: it has not ended. In a forked child none of them is a child. */
static int reap(long pid, struct order *o, int flags) {
    if (sys4(SYS_wait4, pid, 0, __WALL | flags, 0) == 0)
        return 0;
    memory_unmap(o, sizeof *o);
    return 1;
}

static void reap_all(void) {
    for (int i = 0; i < UNREAPED; i++)
        if (unreaped[i].pid && reap(unreaped[i].pid, unreaped[i].order, WNOHANG))
            unreaped[i].pid = 0;
}

static int free_place(void) {
    for (int i = 0; i < UNREAPED; i++)
        if (!unreaped[i].pid)
            return i;
    return -1;
}

/* Why `profile` stays as it is. That there is no command is said of the first one alone. */
static void tell_left(const char *why, const char *profile) {
    char buf[1024];
    struct text line;
    log_begin(&line, buf, sizeof buf);
    text_add(&line, why);
    text_add(&line, ": names are left to `cprof symbolize ");
    text_add_bytes(&line, profile, text_length(profile) < 700 ? text_length(profile) : 700);
    text_add(&line, "`");
    log_end(&line, LOG_WARN);
}

static void tell_no_command(const char *profile) {
    static uint32_t told;
    if (!exchange_acquire(&told, 1u))
        tell_left("no cprof beside the library or in PATH", profile);
}

/* Valgrind's own question to itself (its RUNNING_ON_VALGRIND): rotations by 128 bits in all, which do nothing elsewhere. */
static int under_valgrind(void) {
    uintptr_t question[6] = {0x1001}, answer = 0;
    __asm__ volatile("rolq $3, %%rdi\n\trolq $13, %%rdi\n\trolq $61, %%rdi\n\trolq $51, %%rdi\n\txchgq %%rbx, %%rbx"
                     : "+d"(answer)
                     : "a"(question)
                     : "cc", "memory");
    return answer != 0;
}

void symbolize_start(const char *path, int wait) {
    struct text command, profile;
    if (under_valgrind()) { /* which knows no clone like ours */
        tell_left("under valgrind", path);
        return;
    }
    reap_all();
    int place = free_place();
    struct order *o = place < 0 ? NULL : memory_map(sizeof *o);
    if (!o) {
        tell_left(place < 0 ? "those of eight profiles are being looked up" : "out of memory", path);
        return;
    }
    text_init(&command, o->command, sizeof o->command);
    text_init(&profile, o->profile, sizeof o->profile);
    text_add(&profile, path);
    int found = find_command(&command);
    long pid = found ? clone_call(CLONE_VM, o->between + STACK, start_command, o) : -1;
    if (pid <= 0) {
        memory_unmap(o, sizeof *o);
        if (found)
            tell_left("no process could be made", path);
        else
            tell_no_command(path);
    } else if (!wait || !wait_for(pid) || !reap(pid, o, 0)) {
        unreaped[place].pid = pid;
        unreaped[place].order = o;
    }
}
