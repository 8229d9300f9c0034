/* SPDX-License-Identifier: Apache-2.0 */
/* Allocates what is known and ends as its argument says. Kept: 100 blocks of 1000 bytes by keep(); freed again: 50 of
 * 64 bytes by pass(); kept after an exec that failed: 7 blocks of 11 bytes by later(); kept by a child: 3 blocks of 13
 * bytes by child(). */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SITE __attribute__((noipa)) static

extern char **environ;
static void *volatile kept;

/* By no function of libc's, as Go's runtime does it. */
static void bare(long number, long a, const void *b, const void *c, const void *d, long e) {
    register const void *r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    __asm__ volatile("syscall" : "+a"(number) : "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8) : "rcx", "r11", "memory");
}

SITE void keep(void) {
    for (int i = 0; i < 100; i++)
        kept = malloc(1000);
}

SITE void pass(void) {
    for (int i = 0; i < 50; i++) {
        kept = malloc(64);
        free(kept);
    }
}

SITE void later(void) {
    for (int i = 0; i < 7; i++)
        kept = malloc(11);
}

SITE void child(void) {
    for (int i = 0; i < 3; i++)
        kept = malloc(13);
}

SITE void churn_once(void) {
    void *p = malloc(48);
    __asm__ volatile("" : : "r"(p) : "memory");
    free(p);
}

static int churning;

static void *churn(void *unused) {
    (void)unused;
    churn_once();
    __atomic_add_fetch(&churning, 1, __ATOMIC_SEQ_CST);
    for (;;)
        churn_once();
    return NULL;
}

static void start_churning(int threads) {
    pthread_t thread;
    for (int i = 0; i < threads; i++)
        pthread_create(&thread, NULL, churn, NULL);
    while (__atomic_load_n(&churning, __ATOMIC_SEQ_CST) < threads)
        usleep(1000);
}

static void end_of_thread(void *unused) {
    (void)unused;
}

static void *last_thread(void *main_thread) {
    pthread_join(*(pthread_t *)main_thread, NULL);
    later();
    pthread_cleanup_push(end_of_thread, NULL);
    pthread_exit(NULL);
    pthread_cleanup_pop(0);
    return NULL;
}

static void exit_at_once(int number) {
    (void)number;
    exit(0);
}

/* ---- Ends ---- */

static void by_pthread_exit(void) {
    static pthread_t main_thread;
    pthread_t thread;
    main_thread = pthread_self();
    pthread_create(&thread, NULL, last_thread, &main_thread);
    pthread_exit(NULL);
}

static void by_handler(void) {
    struct itimerspec soon = {.it_value.tv_nsec = 5000000};
    timer_t timer;
    signal(SIGALRM, exit_at_once);
    timer_create(CLOCK_MONOTONIC, NULL, &timer);
    timer_settime(timer, 0, &soon, NULL);
    for (;;)
        churn_once();
}

/* More than the limit lets it have; a program that gives up then. */
static void by_limit(void) {
    struct rlimit limit = {(rlim_t)4 << 30, (rlim_t)4 << 30};
    setrlimit(RLIMIT_AS, &limit);
    for (;;)
        if (!(kept = malloc((size_t)64 << 20)))
            abort();
}

/* Until the kernel puts an end to it, which it should do long before this does. */
static void by_eating(void) {
    for (int mib = 0; mib < 512; mib++) {
        char *p = malloc((size_t)1 << 20);
        if (!p)
            _exit(3);
        memset(p, 1, (size_t)1 << 20);
    }
    _exit(4);
}

static void by_daemonizing(const char *root) {
    if (fork() != 0)
        _exit(0);
    setsid();
    if (fork() != 0)
        _exit(0);
    for (int fd = 0; fd < 1024; fd++)
        close(fd);
    if (chdir("/") != 0 || (root && (chroot(root) != 0 || chdir("/") != 0)))
        _exit(3);
    child();
    exit(0);
}

/* ---- Children ---- */

static int on_other_stack(void *unused) {
    (void)unused;
    child();
    return 0;
}

static void wait_for(pid_t pid) {
    while (waitpid(pid, NULL, __WALL) < 0 && errno == EINTR)
        continue;
}

static void by_children(const char *how) {
    static char stack[65536] __attribute__((aligned(16)));
    char *argv[] = {(char *)"true", NULL};
    pid_t pid = -1;
    if (strcmp(how, "spawn") == 0 || strcmp(how, "spawn-fails") == 0) {
        posix_spawn(&pid, strcmp(how, "spawn") == 0 ? "/bin/true" : "/none", NULL, NULL, argv, environ);
    } else if (strcmp(how, "vfork-exec") == 0) {
        if ((pid = vfork()) == 0) {
            execv("/bin/true", argv);
            _exit(1);
        }
    } else if (strcmp(how, "vfork-_exit") == 0) {
        if ((pid = vfork()) == 0)
            _exit(0);
    } else if (strcmp(how, "clone-vm") == 0) {
        pid = clone(on_other_stack, stack + sizeof stack, CLONE_VM | CLONE_VFORK | SIGCHLD, NULL);
    } else if (strcmp(how, "clone") == 0) {
        pid = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
        if (pid == 0) {
            child();
            _exit(0);
        }
    } else if (strcmp(how, "fork") == 0 || strcmp(how, "fork-killed") == 0) {
        if ((pid = fork()) == 0) {
            child();
            if (strcmp(how, "fork-killed") == 0)
                raise(SIGKILL);
            _exit(0);
        }
    } else if (strcmp(how, "system") == 0) {
        if (system("/bin/true") != 0)
            exit(3);
    }
    if (pid > 0)
        wait_for(pid);
    later();
    exit(0);
}

/* ---- exec ---- */

static void by_exec(const char *how, const char *path) {
    char *argv[] = {(char *)"true", NULL};
    if (strcmp(how, "execve") == 0)
        execve(path, argv, environ);
    else if (strcmp(how, "execv") == 0)
        execv(path, argv);
    else if (strcmp(how, "execvp") == 0)
        execvp(path, argv);
    else if (strcmp(how, "execvpe") == 0)
        execvpe(path, argv, environ);
    else if (strcmp(how, "execl") == 0)
        execl(path, "true", NULL);
    else if (strcmp(how, "execlp") == 0)
        execlp(path, "true", NULL);
    else if (strcmp(how, "execle") == 0)
        execle(path, "true", NULL, environ);
    else if (strcmp(how, "fexecve") == 0)
        fexecve(open(path, O_RDONLY | O_CLOEXEC), argv, environ);
    else if (strcmp(how, "execve-syscall") == 0)
        syscall(SYS_execve, path, argv, environ);
    else if (strcmp(how, "execveat-syscall") == 0)
        syscall(SYS_execveat, AT_FDCWD, path, argv, environ, 0);
    else if (strcmp(how, "exec-bare") == 0)
        bare(SYS_execveat, AT_FDCWD, path, argv, environ, 0);
    else if (strcmp(how, "execveat-libc") == 0)
        execveat(AT_FDCWD, path, argv, environ, 0);
    later();
    exit(0);
}

int main(int argc, char **argv) {
    const char *how = argc > 1 ? argv[1] : "return", *more = argc > 2 ? argv[2] : NULL;
    keep();
    pass();
    if (strncmp(how, "exec", 4) == 0 || strcmp(how, "fexecve") == 0)
        by_exec(how, more);
    else if (strcmp(how, "exit") == 0)
        exit(0);
    else if (strcmp(how, "_exit") == 0)
        _exit(0);
    else if (strcmp(how, "_Exit") == 0)
        _Exit(0);
    else if (strcmp(how, "quick_exit") == 0)
        quick_exit(0);
    else if (strcmp(how, "syscall") == 0)
        syscall(SYS_exit_group, 0);
    else if (strcmp(how, "bare") == 0)
        bare(SYS_exit_group, 0, NULL, NULL, NULL, 0);
    else if (strcmp(how, "pthread_exit") == 0)
        by_pthread_exit();
    else if (strcmp(how, "abort") == 0)
        abort();
    else if (strcmp(how, "fault") == 0)
        *(volatile int *)strtoul("8", NULL, 10) = 1;
    else if (strcmp(how, "raise") == 0)
        raise(atoi(more));
    else if (strcmp(how, "limit") == 0)
        by_limit();
    else if (strcmp(how, "eat") == 0)
        by_eating();
    else if (strcmp(how, "daemon") == 0)
        by_daemonizing(more);
    else if (strcmp(how, "handler") == 0)
        by_handler();
    else if (strcmp(how, "racing") == 0)
        start_churning(6), exit(0);
    else if (strcmp(how, "racing-_exit") == 0)
        start_churning(6), _exit(0);
    else if (strcmp(how, "return") != 0)
        by_children(how);
    return 0;
}
