/* SPDX-License-Identifier: Apache-2.0 */
/* What mover_plugin.cc allocates: MOVER_KEPT blocks when it is opened, freed when it is closed, and one for each frame of
 * mover_throw(), freed by the exception; all of MOVER_SIZE bytes. */
#ifndef CPROF_TESTS_LONG_MOVER_H
#define CPROF_TESTS_LONG_MOVER_H

#define MOVER_KEPT 5
#define MOVER_SIZE 48

/* 1 if the exception came through `depth` + 1 frames. */
typedef int mover_throw_fn(unsigned depth);

#endif
