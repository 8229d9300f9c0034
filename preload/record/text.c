/* SPDX-License-Identifier: Apache-2.0 */
#include "preload/record/text.h"

void text_init(struct text *t, char *buf, size_t room) {
    *t = (struct text){.at = buf, .room = room};
    buf[0] = 0;
}

void text_add_bytes(struct text *t, const char *s, size_t len) {
    if (len >= t->room - t->len) {
        len = t->room - t->len - 1;
        t->cut = 1;
    }
    for (size_t i = 0; i < len; i++)
        t->at[t->len + i] = s[i];
    t->len += len;
    t->at[t->len] = 0;
}

void text_add(struct text *t, const char *s) {
    text_add_bytes(t, s, text_length(s));
}

void text_add_number(struct text *t, uint64_t n) {
    char digits[20];
    size_t at = sizeof digits;
    do {
        digits[--at] = (char)('0' + n % 10);
        n /= 10;
    } while (n);
    text_add_bytes(t, digits + at, sizeof digits - at);
}

void text_add_octets_hex(struct text *t, const void *bytes, size_t len) {
    for (size_t i = 0; i < len; i++) {
        unsigned char c = ((const unsigned char *)bytes)[i];
        char two[2] = {"0123456789abcdef"[c >> 4], "0123456789abcdef"[c & 15]};
        text_add_bytes(t, two, 2);
    }
}

size_t text_length(const char *s) {
    size_t n = 0;
    while (s[n])
        n++;
    return n;
}

int text_equal(const char *a, const char *b) {
    while (*a && *a == *b) {
        a++;
        b++;
    }
    return *a == *b;
}

int text_starts(const char *s, const char *prefix) {
    while (*prefix && *s == *prefix) {
        s++;
        prefix++;
    }
    return !*prefix;
}

const char *text_basename(const char *path) {
    const char *base = path;
    for (; *path; path++)
        if (*path == '/')
            base = path + 1;
    return base;
}

int text_number(const char **s, uint64_t *n) {
    const char *p = *s;
    uint64_t v = 0;
    if (*p < '0' || *p > '9')
        return 0;
    for (; *p >= '0' && *p <= '9'; p++)
        if (__builtin_mul_overflow(v, 10u, &v) || __builtin_add_overflow(v, (uint64_t)(*p - '0'), &v))
            return 0;
    *s = p;
    *n = v;
    return 1;
}
