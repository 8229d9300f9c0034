/* SPDX-License-Identifier: Apache-2.0 */
/* Messages to the target's stderr: one line each, "cprof[PID]: ...", and none at all unless something is wrong.
 * Capped, so that a fault that repeats does not fill a log. Does not allocate. */
#ifndef CPROF_RECORD_LOG_H
#define CPROF_RECORD_LOG_H

#include "preload/record/atomic.h"
#include "preload/record/text.h"

enum log_level { LOG_ERROR, LOG_WARN, LOG_INFO };

/* Most that is printed in a process's life. */
#define LOG_LINES 16

extern enum log_level log_level HIDDEN; /* what is printed: this level and those before it */

/* Starts a line; add to it with text_add(), then log_end(). `buf` holds it meanwhile. */
void log_begin(struct text *line, char *buf, size_t room);
int log_end(struct text *line, enum log_level level); /* whether stderr took it */

/* The whole line `a` `b` `c`, any of which may be NULL. */
void log_line(enum log_level level, const char *a, const char *b, const char *c);

/* The same with the error `err` (positive errno) in words behind a colon. */
void log_error(enum log_level level, const char *what, const char *name, int err);

/* And with what to do about it behind that, if `advice` is not NULL. Whether stderr took it. */
int log_error_advice(enum log_level level, const char *what, const char *name, int err, const char *advice);

/* Text for the errno values that opening, writing and mapping give; others by number. */
void text_add_errno(struct text *t, int err);

#endif
