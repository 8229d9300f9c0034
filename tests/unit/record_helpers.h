/* SPDX-License-Identifier: Apache-2.0 */
/* For the tests of preload/record/: random numbers with a seed that is told, threads that start together, and system
 * calls that fail. */
#ifndef CPROF_TESTS_UNIT_RECORD_HELPERS_H
#define CPROF_TESTS_UNIT_RECORD_HELPERS_H

#include <stddef.h>
#include <stdint.h>

/* The seed is that of TEST_SEED in the environment, else the clock's; it is printed, so that a failure can be repeated.
 */
uint64_t test_seed(void);
uint64_t test_random(uint64_t *state);

/* Runs fn(0) ... fn(n - 1), each in a thread of its own, all let go at the same moment; returns when all are done. */
void test_threads(unsigned n, void (*fn)(unsigned number));

/* System call `nr` of the code under test will be made `after` times more, and then fail with -err `times` times. */
#define TEST_ALWAYS (1u << 30)
void test_fail_syscall(long nr, int err, unsigned after, unsigned times);

/* A segment that has room, in memory of the test's own; ends the test if there is none. */
void test_segment(void);

#endif
