/* SPDX-License-Identifier: Apache-2.0 */
/* Starting `cprof symbolize` on a profile that was written, so that it has names.
 *
 * A process of its own, that the target does not notice: made by clone with no signal for its end, a grandchild that belongs to
 * nobody, with none of the target's descriptors, its own session, and an environment that does not profile it in turn. */
#ifndef CPROF_INTERCEPT_SYMBOLIZE_H
#define CPROF_INTERCEPT_SYMBOLIZE_H

/* Keeps what will be needed of the environment the program was started with. */
void symbolize_init(char *const *env);

/* Starts it on the profile at `path`. With `wait`, returns when it is done, or after SYMBOLIZE_WAIT seconds: it then goes on by
 * itself, and replaces the file when it is ready. Without, at once. If it can't run, the profile stays as it is. */
#define SYMBOLIZE_WAIT 10
void symbolize_start(const char *path, int wait);

#endif
