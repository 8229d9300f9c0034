/* SPDX-License-Identifier: Apache-2.0 */
/* The terminal of a program that fills it and reads single keys.
 *
 * However the process ends but by SIGKILL, the terminal is as it was before; also while it is stopped. */
#ifndef CPROF_TOOLS_LIVE_SCREEN_H
#define CPROF_TOOLS_LIVE_SCREEN_H

#include <stdbool.h>
#include <stddef.h>

enum screen_key {
    SCREEN_NONE = 0, /* characters stand for themselves */
    SCREEN_UP = 256,
    SCREEN_DOWN,
    SCREEN_PAGE_UP,
    SCREEN_PAGE_DOWN,
    SCREEN_HOME,
    SCREEN_END,
    SCREEN_RESIZED,
    SCREEN_CLOSED, /* there is no terminal any more */
};

/* Standard input and output must be one. False, with errno, if it can't be set up. */
bool screen_open(void);
void screen_close(void);

void screen_size(size_t *rows, size_t *columns);

/* Begins a picture, adds lines to it, each cut to the width, and shows it. */
void screen_begin(void);
void screen_line(const char *text, bool reversed);
void screen_end(void);

/* Waits for a key, or for `seconds` to pass (SCREEN_NONE). */
int screen_key(double seconds);

#endif
