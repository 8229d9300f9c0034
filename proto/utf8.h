/* SPDX-License-Identifier: Apache-2.0 */
/* UTF-8 as RFC 3629 defines it: no overlong forms, no surrogates, nothing beyond U+10FFFF. */
#ifndef CPROF_PROTO_UTF8_H
#define CPROF_PROTO_UTF8_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Length (1 to 4) of the well-formed character that the `len` (> 0) bytes at `s` begin with; 0 if they begin with
 * none. Zero bytes are characters. */
static inline size_t utf8_character(const unsigned char *s, size_t len) {
    if (s[0] < 0x80)
        return 1;
    size_t n = s[0] >= 0xc2 && s[0] <= 0xdf ? 2 : (s[0] & 0xf0) == 0xe0 ? 3 : s[0] >= 0xf0 && s[0] <= 0xf4 ? 4 : 0;
    if (n == 0 || n > len)
        return 0;
    /* The second byte is where overlong forms, surrogates and numbers too large show. */
    unsigned char low = s[0] == 0xe0 ? 0xa0 : s[0] == 0xf0 ? 0x90 : 0x80;
    unsigned char high = s[0] == 0xed ? 0x9f : s[0] == 0xf4 ? 0x8f : 0xbf;
    if (s[1] < low || s[1] > high)
        return 0;
    for (size_t i = 2; i < n; i++)
        if ((s[i] & 0xc0) != 0x80)
            return 0;
    return n;
}

/* Offset of the first byte that is not part of a well-formed character; `len` if there is none. */
static inline size_t utf8_valid_length(const unsigned char *s, size_t len) {
    size_t i = 0;
    while (i < len) {
        uint64_t eight;
        if (len - i >= sizeof eight) {
            memcpy(&eight, s + i, sizeof eight);
            if (!(eight & UINT64_C(0x8080808080808080))) { /* ASCII, as most texts are */
                i += sizeof eight;
                continue;
            }
        }
        size_t n = utf8_character(s + i, len - i);
        if (n == 0)
            break;
        i += n;
    }
    return i;
}

/* What stands for one byte that is not UTF-8: U+FFFD. */
#define UTF8_REPLACEMENT "\xef\xbf\xbd"
#define UTF8_REPLACEMENT_LEN 3u

#endif
