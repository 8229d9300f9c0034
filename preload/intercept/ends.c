/* SPDX-License-Identifier: Apache-2.0 */
/* Ways out of the process that run no exit handlers: _exit, daemon, and exec, which the process survives but not its records.
 *
 * exec: the profile is written first, since nothing can be done after. Where it can be seen that the call is going to fail (as
 * when a shell tries one directory of PATH after the other) nothing is done. If it fails all the same the process goes on, and
 * its last profile takes the place of this one. Children of vfork and posix_spawn, which share their parent's memory, are left
 * alone (dump.c). */
#include <fcntl.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "preload/intercept/dump.h"
#include "preload/intercept/ends.h"
#include "preload/intercept/next.h"
#include "preload/record/atomic.h"
#include "preload/record/sys.h"
#include "preload/record/text.h"

#pragma GCC diagnostic ignored "-Wmissing-prototypes"
#pragma GCC diagnostic ignored "-Wnonnull-compare"

#define EXPORT __attribute__((visibility("default")))

static void leave(int status) {
    dump_at_end();
    for (;;)
        sys1(SYS_exit_group, status);
}

/* The program may have functions of its own by these names, made of syscall(), which leads here: what calls them from inside the
 * library calls ours. */
#define OURS(type, name, ...) extern type ends_##name(__VA_ARGS__) __attribute__((alias(#name), copy(name))) HIDDEN

EXPORT void _exit(int status) {
    leave(status);
    __builtin_unreachable();
}

OURS(void, _exit, int status);

EXPORT void _Exit(int status) {
    leave(status);
    __builtin_unreachable();
}

static int after(int ret) {
    dump_exec_failed();
    return ret;
}

/* The thread that is in daemon(): the process that forks there ends inside libc, by no function that could be ours. */
static uintptr_t daemonizing;

void ends_forked(void) {
    if (unlikely(load_relaxed(&daemonizing) == (uintptr_t)__builtin_thread_pointer()))
        dump_at_end();
}

EXPORT int daemon(int nochdir, int noclose) {
    next_lookup();
    store_relaxed(&daemonizing, (uintptr_t)__builtin_thread_pointer());
    int ret = next.daemon(nochdir, noclose);
    store_relaxed(&daemonizing, (uintptr_t)0);
    return ret < 0 ? after(ret) : ret; /* there may have been no fork, and this be the process that went on */
}

static int is_executable(int dir, const char *path, int flags) {
    return life_sandboxed || !sys_failed(sys4(SYS_faccessat2, dir, path, X_OK, flags | AT_EACCESS)) ||
           sys4(SYS_faccessat, dir, path, X_OK, 0) == 0;
}

static void before(const char *path) {
    next_lookup();
    if (path && is_executable(AT_FDCWD, path, 0))
        dump_before_exec();
}

/* A name without a slash is looked for in PATH: whether it is there is for the search to say. */
static void before_search(const char *file) {
    next_lookup();
    if (file && (text_basename(file) == file || is_executable(AT_FDCWD, file, 0)))
        dump_before_exec();
}

EXPORT int execve(const char *path, char *const argv[], char *const envp[]) {
    before(path);
    return after(next.execve(path, argv, envp));
}
OURS(int, execve, const char *path, char *const argv[], char *const envp[]);

EXPORT int execv(const char *path, char *const argv[]) {
    before(path);
    return after(next.execv(path, argv));
}
OURS(int, execv, const char *path, char *const argv[]);

EXPORT int execvp(const char *file, char *const argv[]) {
    before_search(file);
    return after(next.execvp(file, argv));
}
OURS(int, execvp, const char *file, char *const argv[]);

EXPORT int execvpe(const char *file, char *const argv[], char *const envp[]) {
    before_search(file);
    return after(next.execvpe(file, argv, envp));
}

EXPORT int fexecve(int fd, char *const argv[], char *const envp[]) {
    next_lookup();
    dump_before_exec();
    return after(next.fexecve(fd, argv, envp));
}

EXPORT int execveat(int dir, const char *path, char *const argv[], char *const envp[], int flags) {
    next_lookup();
    if (path && is_executable(dir, path, flags & AT_EMPTY_PATH))
        dump_before_exec();
    return after(next.execveat(dir, path, argv, envp, flags));
}
OURS(int, execveat, int dir, const char *path, char *const argv[], char *const envp[], int flags);

/* The list forms have their arguments on the stack, as the array that the others take must be; execle has the environment
 * behind the list. */
#define COUNT(first, list)                                                                                             \
    size_t n = 1;                                                                                                      \
    va_start(list, first);                                                                                             \
    while (va_arg(list, char *))                                                                                       \
        n++;                                                                                                           \
    va_end(list)
#define COLLECT(first, list, argv, n)                                                                                  \
    va_start(list, first);                                                                                             \
    (argv)[0] = (char *)(size_t)(first);                                                                               \
    for (size_t i = 1; i <= (n); i++)                                                                                  \
    (argv)[i] = va_arg(list, char *)

EXPORT int execl(const char *path, const char *arg, ...) {
    va_list list;
    COUNT(arg, list);
    char **argv = __builtin_alloca((n + 1) * sizeof *argv);
    COLLECT(arg, list, argv, n);
    va_end(list);
    return ends_execv(path, argv);
}

EXPORT int execlp(const char *file, const char *arg, ...) {
    va_list list;
    COUNT(arg, list);
    char **argv = __builtin_alloca((n + 1) * sizeof *argv);
    COLLECT(arg, list, argv, n);
    va_end(list);
    return ends_execvp(file, argv);
}

EXPORT int execle(const char *path, const char *arg, ...) {
    va_list list;
    COUNT(arg, list);
    char **argv = __builtin_alloca((n + 1) * sizeof *argv);
    COLLECT(arg, list, argv, n);
    char *const *envp = va_arg(list, char *const *);
    va_end(list);
    return ends_execve(path, argv, envp);
}
