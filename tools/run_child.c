/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/run_child.h"

#include "tools/segments.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* All that are taken by sigwaitinfo and sigtimedwait instead of doing what they do. */
static void waited_for(sigset_t *set) {
    static const int left[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT, SIGTSTP, SIGTTIN, SIGTTOU};
    sigfillset(set);
    for (size_t i = 0; i < sizeof left / sizeof left[0]; i++)
        sigdelset(set, left[i]);
}

static void execute(char **argv, char *const *variables, int report) {
    for (; *variables; variables++)
        putenv(*variables);
    execvp(argv[0], argv);
    int error = errno;
    if (write(report, &error, sizeof error) != sizeof error)
        _exit(126);
    _exit(126);
}

/* A pipe's end that stayed open here would keep the other side waiting. */
static void close_descriptors(int kept, bool silent) {
    for (int fd = 0; fd < 3; fd++)
        if (fd != kept && (fd != STDERR_FILENO || silent))
            close(fd);
    if (kept > 3)
        syscall(SYS_close_range, 3, kept - 1, 0);
    if (syscall(SYS_close_range, kept < 3 ? 3 : kept + 1, ~0u, 0) != 0)
        for (int fd = kept < 3 ? 3 : kept + 1; fd < 4096; fd++)
            close(fd);
    /* So that no file that is opened later is taken for a standard stream. */
    for (int fd = 0; fd < 3; fd++)
        if (fcntl(fd, F_GETFD) < 0)
            open("/dev/null", O_RDWR);
}

int run_child_start(struct run_child *child, char **argv, char *const *variables, const struct run_child_how *how) {
    struct sigaction standard = {.sa_handler = SIG_DFL}, of_child;
    sigset_t set, before;
    int report[2];
    *child = (struct run_child){.pid = -1};
    if (pipe2(report, O_CLOEXEC) != 0)
        return -errno;
    /* Above the streams, one of which may have been closed. */
    int writing = fcntl(report[1], F_DUPFD_CLOEXEC, 10), reading = fcntl(report[0], F_DUPFD_CLOEXEC, 10);
    close(report[0]);
    close(report[1]);
    /* Ignored, it would let no status come to us. */
    sigaction(SIGCHLD, &standard, &of_child);
    waited_for(&set);
    sigprocmask(SIG_BLOCK, &set, &before);
    child->pid = writing < 0 || reading < 0 ? -1 : fork();
    if (child->pid == 0) {
        sigaction(SIGCHLD, &of_child, NULL);
        sigprocmask(SIG_SETMASK, &before, NULL);
        execute(argv, variables, writing);
    }
    int error = child->pid < 0 ? errno : 0;
    close(writing);
    if (error != 0) {
        close(reading);
        return -error;
    }
    child->start_ticks = process_start_ticks(child->pid);
    if (how->forked)
        how->forked(how->ctx, child);
    close_descriptors(reading, how->silent);
    if (read(reading, &error, sizeof error) == sizeof error)
        child->exec_error = error;
    close(reading);
    return 0;
}

/* True if the program got it as well, or sent it. */
static bool stays_here(const struct run_child *child, const siginfo_t *info) {
    if (info->si_code == SI_KERNEL)
        return info->si_signo == SIGINT || info->si_signo == SIGQUIT || info->si_signo == SIGHUP ||
               info->si_signo == SIGWINCH || info->si_signo == SIGCONT || info->si_signo == SIGPIPE;
    return info->si_code <= 0 && info->si_pid == child->pid;
}

static void pass_on(const struct run_child *child, siginfo_t *info) {
    if (info->si_code == SI_QUEUE && syscall(SYS_rt_sigqueueinfo, child->pid, info->si_signo, info) == 0)
        return;
    kill(child->pid, info->si_signo);
}

void run_child_wait(struct run_child *child, void (*each_second)(pid_t pid)) {
    const struct timespec second = {.tv_sec = 1};
    sigset_t set;
    siginfo_t info;
    waited_for(&set);
    for (;;) {
        pid_t ended = waitpid(child->pid, &child->status, WNOHANG);
        if (ended == child->pid || (ended < 0 && errno == ECHILD))
            return;
        int number = each_second ? sigtimedwait(&set, &info, &second) : sigwaitinfo(&set, &info);
        if (number > 0 && info.si_signo != SIGCHLD && !stays_here(child, &info))
            pass_on(child, &info);
        else if (number < 0 && errno == EAGAIN)
            each_second(child->pid);
    }
}

int run_child_end_like(const struct run_child *child) {
    struct rlimit none = {0, 0};
    struct sigaction standard = {.sa_handler = SIG_DFL};
    sigset_t set;
    if (WIFEXITED(child->status))
        return WEXITSTATUS(child->status);
    int number = WTERMSIG(child->status);
    setrlimit(RLIMIT_CORE, &none);
    prctl(PR_SET_DUMPABLE, 0);
    sigaction(number, &standard, NULL);
    sigemptyset(&set);
    sigaddset(&set, number);
    raise(number); /* blocked still, so that it comes with all set */
    sigprocmask(SIG_UNBLOCK, &set, NULL);
    return 128 + number;
}
