/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: child processes overwriting the parent's profile
 * Report: https://github.com/gperftools/gperftools/issues/601
 * Symptom: children that never exec write to the parent's file name; only the last writer's profile survives
 * Right: exit 0, stdout "ok"; four profiles, four names: the parent's holds parent_block and is not replaced by any
 *     child's, each child's holds child_1/child_2/child_3. Children exit before and after the parent's work.
 *
 * EXPECT timeout 10
 * EXPECT func parent_block 100 1000 0 0
 * EXPECT func child_1 10 110 0 0
 * EXPECT func child_2 20 440 0 0
 * EXPECT func child_3 30 990 0 0
 * EXPECT profiles 4
 */
#include "tests/corpus/case.h"

#include <stdlib.h>
#include <sys/wait.h>

NOINLINE static void *parent_block(void) {
    void *p = malloc(10);
    KEEP(p);
    return p;
}

NOINLINE static void child_1(void) {
    for (int i = 0; i < 10; i++) {
        void *p = malloc(11);
        KEEP(p);
        free(p);
    }
}

NOINLINE static void child_2(void) {
    for (int i = 0; i < 20; i++) {
        void *p = malloc(22);
        KEEP(p);
        free(p);
    }
}

NOINLINE static void child_3(void) {
    for (int i = 0; i < 30; i++) {
        void *p = malloc(33);
        KEEP(p);
        free(p);
    }
}

static void (*const work[3])(void) = {child_1, child_2, child_3};

int main(void) {
    pid_t k[3];
    for (int i = 0; i < 3; i++)
        if ((k[i] = fork()) == 0) {
            work[i]();
            usleep(i * 50000);
            exit(0);
        }
    for (int i = 0; i < 100; i++)
        free(parent_block());
    for (int i = 0; i < 3; i++) {
        int st;
        if (waitpid(k[i], &st, 0) < 0 || st)
            return 1;
    }
    return say_ok();
}
