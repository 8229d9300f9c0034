/* SPDX-License-Identifier: Apache-2.0 */
/* grower: a thread that meets new stacks all the time, each with a block of 1 + NUMBER bytes that is kept (turns.h), while the first
 * thread forks. Each child allocates a block of 5000000 bytes by own(), meets more stacks itself, and ends. Prints
 *
 *     child PID FIRST LAST        the child's own numbers */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/system/turns.h"

#define BITS 16
#define NUMBERS 3000u
#define OF_CHILD 700u /* more than the child's first index holds */

static void *volatile kept;
static int done;

__attribute__((noipa)) static void turn_end(size_t number) {
    kept = malloc(1 + number);
}

__attribute__((noipa)) static void own(void) {
    kept = malloc(5000000);
}

static void *grow(void *unused) {
    for (size_t n = 0; n < NUMBERS; n++)
        turn(BITS, n);
    __atomic_store_n(&done, 1, __ATOMIC_SEQ_CST);
    return unused;
}

int main(void) {
    static char buffer[4096];
    pthread_t thread;
    int status = 0, children = 0;
    setvbuf(stdout, buffer, _IOFBF, sizeof buffer);
    if (pthread_create(&thread, NULL, grow, NULL) != 0)
        return 2;
    for (size_t first = NUMBERS; !__atomic_load_n(&done, __ATOMIC_SEQ_CST) && first < 1u << BITS; first += OF_CHILD) {
        fflush(stdout);
        pid_t child = fork();
        if (child == 0) {
            own();
            for (size_t n = first; n < first + OF_CHILD; n++)
                turn(BITS, n);
            printf("child %d %zu %zu\n", (int)getpid(), first, first + OF_CHILD - 1);
            fflush(stdout);
            _exit(0);
        }
        if (child < 0 || waitpid(child, &status, 0) != child || status != 0) {
            printf("child %d: status %x\n", (int)child, (unsigned)status);
            return 1;
        }
        children++;
    }
    pthread_join(thread, NULL);
    return children ? 0 : 3;
}
