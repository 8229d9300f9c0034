/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/json.h"

#include "proto/utf8.h"

/* A character of `n` bytes inside a string. */
static void print_character(FILE *out, const unsigned char *at, size_t n) {
    if (*at == '"' || *at == '\\')
        fprintf(out, "\\%c", *at);
    else if (*at < ' ' || *at == '<' || *at == '>' || *at == '&' || *at == 0x7f)
        fprintf(out, "\\u%04x", *at);
    else if (n == 3 && at[0] == 0xe2 && at[1] == 0x80 && (at[2] == 0xa8 || at[2] == 0xa9))
        fprintf(out, "\\u20%x", at[2] - 0x80); /* line and paragraph separators end lines of scripts */
    else
        fwrite(at, 1, n, out);
}

void json_print_string(FILE *out, const void *bytes, size_t len) {
    const unsigned char *at = bytes;
    putc('"', out);
    while (len > 0) {
        size_t n = utf8_character(at, len);
        if (n == 0)
            fwrite(UTF8_REPLACEMENT, 1, UTF8_REPLACEMENT_LEN, out);
        else
            print_character(out, at, n);
        at += n > 0 ? n : 1;
        len -= n > 0 ? n : 1;
    }
    putc('"', out);
}
