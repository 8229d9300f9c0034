/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: stack unwinding (frames that look the same, under other callers)
 * Symptom: a walk that is kept is met too early: the outer part of the last stack is taken for that of this one
 * Right: exit 0, stdout "ok": two callers with frames of the same size call the same chain of ten functions in turn,
 *     from two places each, so that all but one or two return addresses agree. Each is charged with its own.
 *
 * EXPECT func shared_leaf 40000 280000 0 0
 * EXPECT under left_caller 20000 140000 0 0
 * EXPECT under right_caller 20000 140000 0 0
 * EXPECT under upper_left 20000 140000 0 0
 * EXPECT under upper_right 20000 140000 0 0
 * EXPECT stack shared_leaf<-chain<-left_caller<-upper_right<-main
 * EXPECT stack shared_leaf<-chain<-right_caller<-upper_left<-main
 */
#include "tests/corpus/case.h"

#include <stdlib.h>

NOINLINE static void *shared_leaf(void) {
    void *p = malloc(7);
    KEEP(p);
    return p;
}

NOINLINE static void *chain(int depth) {
    void *p = depth ? chain(depth - 1) : shared_leaf();
    KEEP(p);
    return p;
}

#define CALLER(name, callee)                                                                                           \
    NOINLINE static void *name(int depth) {                                                                            \
        void *p = callee(depth);                                                                                       \
        KEEP(p);                                                                                                       \
        return p;                                                                                                      \
    }
CALLER(left_caller, chain)
CALLER(right_caller, chain)

typedef void *caller(int);

NOINLINE static void *upper_left(caller *which) {
    void *p = which(10);
    KEEP(p);
    return p;
}

NOINLINE static void *upper_right(caller *which) {
    void *p = which(10);
    KEEP(p);
    return p;
}

int main(void) {
    for (int i = 0; i < 10000; i++) {
        free(upper_left(left_caller));
        free(upper_right(left_caller));
        free(upper_right(right_caller));
        free(upper_left(right_caller));
    }
    return say_ok();
}
