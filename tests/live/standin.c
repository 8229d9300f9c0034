/* SPDX-License-Identifier: Apache-2.0 */
/* What a program run by `cprof run` sees of its surroundings, and what it does with signals:
 *
 *     tell            prints its process group, session and foreground group relative to its parent's; which
 * descriptors are open; blocked and ignored signals; the parent's and its own name count SIGNAL    prints "ready",
 * counts the signal until SIGUSR2 comes, and prints how many there were and the value of the last one that had one;
 * ends with status 5 orphan          starts a grandchild that prints its parent's number once it is an orphan close
 * closes its standard output, and goes on until there is a line on its input */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile sig_atomic_t count, value, over;

static void on_signal(int number, siginfo_t *info, void *context) {
    (void)number;
    (void)context;
    count++;
    if (info->si_code == SI_QUEUE)
        value = info->si_value.sival_int;
}

static void on_end(int number) {
    (void)number;
    over = 1;
}

static void tell(void) {
    sigset_t blocked;
    struct sigaction action;
    printf("group %s, session %s\n", getpgrp() == getpgid(getppid()) ? "the parent's" : "its own",
           getsid(0) == getsid(getppid()) ? "the parent's" : "its own");
    printf("descriptors");
    for (int fd = 0; fd < 1024; fd++)
        if (fcntl(fd, F_GETFD) >= 0)
            printf(" %d", fd);
    printf("\nblocked");
    sigprocmask(SIG_BLOCK, NULL, &blocked);
    for (int i = 1; i < 65; i++)
        if (sigismember(&blocked, i) == 1)
            printf(" %d", i);
    printf("\nignored");
    for (int i = 1; i < 65; i++)
        if (sigaction(i, NULL, &action) == 0 && action.sa_handler == SIG_IGN)
            printf(" %d", i);
    printf("\n");
}

static int counting(int number) {
    struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO};
    sigset_t set, before;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    sigprocmask(SIG_BLOCK, &set, &before);
    sigaction(number, &action, NULL);
    signal(SIGUSR2, on_end);
    if (write(1, "ready\n", 6) != 6)
        return 3;
    while (!over)
        sigsuspend(&before);
    dprintf(1, "%d %d\n", (int)count, (int)value);
    return 5;
}

static int orphan(void) {
    pid_t child = fork();
    if (child == 0) {
        pid_t parent = getpid();
        if (fork() == 0) {
            while (getppid() == parent)
                usleep(1000);
            dprintf(1, "%d\n", (int)getppid());
        }
        _exit(0);
    }
    waitpid(child, NULL, 0);
    usleep(100000);
    return 0;
}

int main(int argc, char **argv) {
    char c;
    if (argc > 2 && strcmp(argv[1], "count") == 0)
        return counting(atoi(argv[2]));
    if (argc > 1 && strcmp(argv[1], "orphan") == 0)
        return orphan();
    if (argc > 1 && strcmp(argv[1], "close") == 0) {
        close(1);
        while (read(0, &c, 1) == 1 && c != '\n')
            continue;
        return 0;
    }
    tell();
    return 0;
}
