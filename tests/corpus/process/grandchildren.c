/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: fork of forks
 * Symptom: a child's child takes the name, the totals or the state of its parent or grandparent
 * Right: exit 0, stdout "ok": three generations below the first process, each allocates at a place of its own, ends by
 *     exit or _exit in turn, and has a profile of its own.
 *
 * EXPECT profiles 4
 * EXPECT func generation_0 10 1000 0 0
 * EXPECT func generation_1 20 2000 0 0
 * EXPECT func generation_2 30 3000 0 0
 * EXPECT func generation_3 40 4000 0 0
 */
#include "tests/corpus/case.h"

#include <stdlib.h>
#include <sys/wait.h>

#define GENERATION(n)                                                                                                  \
    NOINLINE static void generation_##n(void) {                                                                        \
        for (int i = 0; i < 10 * (n + 1); i++) {                                                                       \
            void *p = malloc(100);                                                                                     \
            KEEP(p);                                                                                                   \
            free(p);                                                                                                   \
        }                                                                                                              \
    }
GENERATION(0)
GENERATION(1)
GENERATION(2)
GENERATION(3)

static void (*const work[])(void) = {generation_0, generation_1, generation_2, generation_3};

static int live(int n) {
    int status = 0;
    if (n < 3) {
        pid_t child = fork();
        if (child < 0)
            return 1;
        if (child == 0) {
            status = live(n + 1);
            if (n % 2)
                _exit(status);
            exit(status);
        }
        if (waitpid(child, &status, 0) != child || status)
            return 2;
    }
    work[n]();
    return 0;
}

int main(void) {
    return live(0) ? 1 : say_ok();
}
