/* SPDX-License-Identifier: Apache-2.0 */
/* Text in a fixed buffer, without stdio or locale: for messages and file names made inside the target. */
#ifndef CPROF_RECORD_TEXT_H
#define CPROF_RECORD_TEXT_H

#include <stddef.h>
#include <stdint.h>

/* Always terminated; what does not fit is cut, and `cut` says so. */
struct text {
    char *at;
    size_t len;  /* bytes used, without the terminating zero */
    size_t room; /* bytes of the buffer */
    int cut;
};

void text_init(struct text *t, char *buf, size_t room);
void text_add(struct text *t, const char *s);
void text_add_bytes(struct text *t, const char *s, size_t len);
void text_add_number(struct text *t, uint64_t n);
void text_add_octets_hex(struct text *t, const void *bytes, size_t len);

size_t text_length(const char *s);
int text_equal(const char *a, const char *b);
int text_starts(const char *s, const char *prefix);
const char *text_basename(const char *path);

/* Decimal digits at *s; advances *s behind them. Returns 0 and leaves *s if there is none, or if it overflows. */
int text_number(const char **s, uint64_t *n);

#endif
