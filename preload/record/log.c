/* SPDX-License-Identifier: Apache-2.0 */
#include "preload/record/log.h"

#include <errno.h>

#include "preload/record/sys.h"

enum log_level log_level = LOG_ERROR;

/* Of a longer one only the start is shown, so that what is behind it fits. */
#define LONGEST_NAME 700

static unsigned lines;

void log_begin(struct text *line, char *buf, size_t room) {
    text_init(line, buf, room);
    text_add(line, "cprof[");
    text_add_number(line, (uint64_t)sys_getpid());
    text_add(line, "]: ");
}

int log_end(struct text *line, enum log_level level) {
    if (level > log_level || add_relaxed(&lines, 1u) >= LOG_LINES)
        return 0;
    if (line->len >= line->room - 1)
        line->len = line->room - 2;
    line->at[line->len++] = '\n';
    /* One write, so that lines of several processes don't mix; a closed or full stderr is nobody's concern. */
    return sys_write(2, line->at, line->len) == (long)line->len;
}

void log_line(enum log_level level, const char *a, const char *b, const char *c) {
    char buf[1024];
    struct text line;
    if (level > log_level)
        return;
    log_begin(&line, buf, sizeof buf);
    if (a)
        text_add(&line, a);
    if (b)
        text_add(&line, b);
    if (c)
        text_add(&line, c);
    log_end(&line, level);
}

void log_error(enum log_level level, const char *what, const char *name, int err) {
    log_error_advice(level, what, name, err, NULL);
}

int log_error_advice(enum log_level level, const char *what, const char *name, int err, const char *advice) {
    char buf[1024];
    struct text line;
    if (level > log_level)
        return 0;
    log_begin(&line, buf, sizeof buf);
    text_add(&line, what);
    size_t len = name ? text_length(name) : 0;
    text_add_bytes(&line, name, len < LONGEST_NAME ? len : LONGEST_NAME);
    if (len >= LONGEST_NAME)
        text_add(&line, "...");
    text_add(&line, ": ");
    text_add_errno(&line, err);
    if (advice)
        text_add(&line, advice);
    return log_end(&line, level);
}

void text_add_errno(struct text *t, int err) {
    static const struct {
        int err;
        const char *words;
    } known[] = {
        {EPERM, "operation not permitted"},
        {ENOENT, "no such file or directory"},
        {EINTR, "interrupted"},
        {EIO, "input/output error"},
        {EAGAIN, "it keeps changing"}, /* the peak */
        {ENOMEM, "out of memory"},
        {EACCES, "permission denied"},
        {EEXIST, "file exists"},
        {ENOTDIR, "not a directory"},
        {EISDIR, "is a directory"},
        {EINVAL, "invalid argument"},
        {ENFILE, "too many open files in the system"},
        {EMFILE, "too many open files"},
        {EFBIG, "file size limit reached"},
        {ENOSPC, "no space left on device"},
        {EROFS, "read-only file system"},
        {ENXIO, "no such device or address"},
        {EPIPE, "nobody reads from it"},
        {ETIMEDOUT, "nothing was read from it for too long"},
        {ENAMETOOLONG, "file name too long"},
        {ENOSYS, "not supported by this kernel"},
        {ELOOP, "too many symbolic links"},
        {EDQUOT, "disk quota exceeded"},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (known[i].err == err) {
            text_add(t, known[i].words);
            return;
        }
    }
    text_add(t, "error ");
    text_add_number(t, (uint64_t)err);
}
