/* SPDX-License-Identifier: Apache-2.0 */
/* Starting `cprof symbolize` on a profile that was written, so that it has names.
 *
 * It is a process of its own that the target does not notice: with none of the target's descriptors, in its own session, in an
 * environment that does not profile it in turn; and the target's grandchild, by way of a process that has no signal for its end,
 * which wait() and its kind do not see (but with __WALL), and that outlives it, so that nobody has to adopt it. */
#ifndef CPROF_INTERCEPT_SYMBOLIZE_H
#define CPROF_INTERCEPT_SYMBOLIZE_H

/* Keeps what will be needed of the environment the program was started with. */
void symbolize_init(char *const *env);

/* Starts it on the profile at `path`. With `wait`, returns when it is done, or after SYMBOLIZE_WAIT seconds: it then goes on by
 * itself, and replaces the file when it is ready. Without, at once. If it can't run, the profile stays as it is. */
#define SYMBOLIZE_WAIT 10
void symbolize_start(const char *path, int wait);

#endif
