/* SPDX-License-Identifier: Apache-2.0 */
/* storm FORKS: eight threads allocate and free all the time, while the first one forks FORKS times. Each child
 * allocates 10 blocks of 100 bytes by child() and ends. Every child that did not end well is said; the status is 1
 * then. Kept from before: 100 blocks of 1000 bytes by keep(). */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define SITE __attribute__((noipa)) static

static void *volatile kept;
static int stop;

SITE void keep(void) {
    for (int i = 0; i < 100; i++)
        kept = malloc(1000);
}

SITE void child(void) {
    for (int i = 0; i < 10; i++)
        kept = malloc(100);
}

SITE void *churn_once(size_t size) {
    void *p = malloc(size);
    __asm__ volatile("" : : "r"(p) : "memory");
    return p;
}

static void *churn(void *unused) {
    void *blocks[64] = {NULL};
    (void)unused;
    for (unsigned i = 0; !__atomic_load_n(&stop, __ATOMIC_RELAXED); i++) {
        free(blocks[i % 64]);
        blocks[i % 64] = churn_once(16 + i % 1000);
        /* fork takes the locks of all their arenas: let it have them. */
        if (i % 256 == 255)
            usleep(500);
    }
    for (int i = 0; i < 64; i++)
        free(blocks[i]);
    return NULL;
}

int main(int argc, char **argv) {
    int forks = argc > 1 ? atoi(argv[1]) : 100, bad = 0, status;
    pthread_t threads[8];
    keep();
    for (int i = 0; i < 8; i++)
        pthread_create(&threads[i], NULL, churn, NULL);
    for (int i = 0; i < forks; i++) {
        pid_t pid = fork();
        if (pid == 0) {
            child();
            _exit(i % 100);
        }
        if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status) || WEXITSTATUS(status) != i % 100) {
            printf("child %d: status %x\n", i, pid < 0 ? -1 : status);
            bad = 1;
        }
    }
    __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
    for (int i = 0; i < 8; i++)
        pthread_join(threads[i], NULL);
    return bad;
}
