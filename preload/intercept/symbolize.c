/* SPDX-License-Identifier: Apache-2.0 */
#include "preload/intercept/symbolize.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stddef.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "preload/record/memory.h"
#include "preload/record/sys.h"
#include "preload/record/text.h"

/* clone(2) with a stack; the new process calls fn(arg) and ends. In entry.S. */
HIDDEN long clone_call(unsigned long flags, char *stack_top, void (*fn)(void *), void *arg);

/* Variables that the command, elfutils and libc heed. All others stay behind: LD_PRELOAD first of all. */
static const char *const wanted[] = {"PATH=",        "HOME=",          "TMPDIR=",         "LANG=",
                                     "LC_ALL=",      "DEBUGINFOD_",    "XDG_CACHE_HOME=", "XDG_CONFIG_HOME="};
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
    Dl_info us;
    if (dladdr(&here, &us) && us.dli_fname) {
        size_t len = (size_t)(text_basename(us.dli_fname) - us.dli_fname);
        if (try(path, us.dli_fname, len, "cprof") || try(path, us.dli_fname, len, "../bin/cprof") ||
            try(path, us.dli_fname, len, "../../bin/cprof"))
            return 1;
    }
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
struct order {
    char command[4096];
    const char *profile;
    char stack[STACK];
};

static void run_command(void *p) {
    struct order *o = p;
    uint64_t none = 0;
    char *argv[] = {"cprof", "symbolize", "--quiet", "--timeout", "60", (char *)o->profile, NULL};
    sys1(SYS_setsid, 0);
    /* A pipe's writing end that stayed open here would keep its reader waiting. */
    if (sys3(SYS_close_range, 0, ~0u, 0) < 0)
        for (int fd = 0; fd < 1024; fd++)
            sys_close(fd);
    sys_open("/dev/null", O_RDWR, 0);
    sys1(SYS_dup, 0);
    sys1(SYS_dup, 0);
    sys4(SYS_rt_sigprocmask, 2 /* SIG_SETMASK */, &none, 0, 8);
    sys3(SYS_execve, o->command, argv, variables);
}

static void wait_for(long pid) {
    int fd = (int)sys2(SYS_pidfd_open, pid, 0);
    if (fd < 0)
        return;
    struct pollfd ended = {.fd = fd, .events = POLLIN};
    struct timespec limit = {.tv_sec = SYMBOLIZE_WAIT};
    while (sys6(SYS_ppoll, (long)&ended, 1, (long)&limit, 0, 8, 0) == -EINTR)
        ; /* the kernel has taken off what went by */
    sys_close(fd);
}

/* Those that were not waited for, so that they don't stay as zombies for the rest of a long life. */
#define UNREAPED 8
static int unreaped[UNREAPED];

static void reap(void) {
    for (int i = 0; i < UNREAPED; i++)
        if (unreaped[i] && sys4(SYS_wait4, unreaped[i], 0, __WALL | WNOHANG, 0) != 0)
            unreaped[i] = 0;
}

static void remember(long pid) {
    for (int i = 0; i < UNREAPED; i++)
        if (!unreaped[i]) {
            unreaped[i] = (int)pid;
            return;
        }
}

void symbolize_start(const char *path, int wait) {
    struct text command;
    struct order *o = memory_map(sizeof *o);
    if (!o)
        return;
    text_init(&command, o->command, sizeof o->command);
    o->profile = path;
    reap();
    if (find_command(&command)) {
        long pid = clone_call(CLONE_VM | CLONE_VFORK, o->stack + STACK, run_command, o);
        if (wait && pid > 0) {
            wait_for(pid);
            sys4(SYS_wait4, pid, 0, __WALL | WNOHANG, 0);
        } else if (pid > 0) {
            remember(pid);
        }
    }
    memory_unmap(o, sizeof *o);
}
