/* SPDX-License-Identifier: Apache-2.0 */
/* What the programs of the corpus have in common. See README.md for the form of a case. */
#ifndef CPROF_TESTS_CORPUS_CASE_H
#define CPROF_TESTS_CORPUS_CASE_H

#include <unistd.h>

/* A function of its own in every build: what it allocates can be told apart in a profile. */
#define NOINLINE __attribute__((noinline, noclone))

/* The compiler must take it that `p` is used here: no allocation is left out, no call becomes a jump. */
#define KEEP(p) __asm__ volatile("" : "+r"(p) : : "memory")

/* Without stdio, which would allocate. */
static inline int say_ok(void) {
    return write(1, "ok\n", 3) == 3 ? 0 : 99;
}

#endif
