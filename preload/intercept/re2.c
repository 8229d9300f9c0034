/* SPDX-License-Identifier: Apache-2.0 */
#include "preload/intercept/re2.h"

#include <stddef.h>
#include <stdint.h>

#include "preload/record/atomic.h"
#include "preload/record/text.h"

struct reader {
    const char *at;
    const char *fault;
    uint32_t open;  /* parentheses */
    int repeatable; /* there is something in front that * may follow */
    int repeated;   /* and it is a repetition */
};

static int fail(struct reader *r, const char *fault) {
    r->fault = fault;
    return 0;
}

static int is_in(char c, const char *set) {
    for (; *set; set++)
        if (*set == c)
            return 1;
    return 0;
}

static int is_digit(char c) {
    return c >= '0' && c <= '9';
}

static int is_hex(char c) {
    return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

static int is_word(char c) {
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static void read_some(struct reader *r, int what) {
    r->repeatable = what;
    r->repeated = 0;
}

/* ---- Escapes ---- */

/* Behind \x: two digits, or any number in braces. The character goes to *value. */
static int read_hex(struct reader *r, uint32_t *value) {
    static const char fault[] = "\\x wants two hexadecimal digits, or some in braces";
    int braces = *r->at == '{', n = 0;
    r->at += braces;
    for (*value = 0; is_hex(*r->at) && (braces || n < 2); r->at++, n++)
        *value = (*value << 4 | (uint32_t)(is_digit(*r->at) ? *r->at - '0' : (*r->at | 32) - 'a' + 10)) & 0xffffff;
    if (n < (braces ? 1 : 2) || (braces && *r->at++ != '}') || *value > 0x10ffff)
        return fail(r, fault);
    return 1;
}

/* Behind \p or \P: a letter, or a name in braces. */
static int read_property(struct reader *r) {
    if (*r->at != '{')
        return *r->at++ ? 1 : fail(r, "\\p wants a name");
    for (r->at++; is_word(*r->at) || *r->at == '^'; r->at++)
        ;
    return r->at[-1] != '{' && *r->at++ == '}' ? 1 : fail(r, "\\p wants a name in braces");
}

#define A_CLASS UINT32_MAX

/* At the character behind a backslash, of those that are meant inside brackets, too. The character goes to *value, or A_CLASS. */
static int read_escape(struct reader *r, uint32_t *value) {
    static const char controls[] = "a\af\fn\nr\rt\tv\v";
    char c = *r->at++;
    *value = (unsigned char)c;
    if (!c)
        return fail(r, "nothing is behind its last backslash");
    if (c == 'x')
        return read_hex(r, value);
    if (is_in(c, "dDsSwWpP")) {
        *value = A_CLASS;
        return c != 'p' && c != 'P' ? 1 : read_property(r);
    }
    if (c == '0' || (c >= '1' && c <= '7' && *r->at >= '0' && *r->at <= '7')) {
        *value = (uint32_t)(c - '0');
        for (int n = 0; n < 2 && *r->at >= '0' && *r->at <= '7'; n++)
            *value = *value * 8 + (uint32_t)(*r->at++ - '0');
        return 1;
    }
    for (const char *control = controls; *control; control += 2)
        if (*control == c) {
            *value = (uint32_t)control[1];
            return 1;
        }
    if (c == '_' || (!is_word(c) && (signed char)c > 0))
        return 1;
    return fail(r, is_digit(c) ? "there are no references to groups" : "a backslash is in front of what it has no meaning for");
}

/* At a backslash, outside brackets. */
static int read_backslash(struct reader *r) {
    uint32_t value;
    r->at++;
    if (*r->at == 'Q') {
        for (r->at++; *r->at && !text_starts(r->at, "\\E"); r->at++)
            read_some(r, 1);
        if (!*r->at) /* what is put behind it would be part of it */
            return fail(r, "a \\Q is not ended by \\E");
        r->at += 2;
        return 1;
    }
    if (*r->at && is_in(*r->at, "AbBz"))
        r->at++;
    else if (!read_escape(r, &value))
        return 0;
    read_some(r, 1);
    return 1;
}

/* ---- Brackets ---- */

/* One character, maybe of several bytes. */
static int read_member(struct reader *r, uint32_t *value) {
    if (*r->at == '\\') {
        r->at++;
        return read_escape(r, value);
    }
    const unsigned char *p = (const unsigned char *)r->at;
    unsigned more = *p >= 0xf0 ? 3 : *p >= 0xe0 ? 2 : *p >= 0xc0 ? 1 : 0;
    *value = more ? *p & (0x3fu >> more) : *p;
    for (r->at++; more && (*r->at & 0xc0) == 0x80; more--)
        *value = *value << 6 | (*r->at++ & 0x3f);
    return 1;
}

/* [:name:] */
static int skip_named_class(struct reader *r) {
    if (r->at[0] != '[' || r->at[1] != ':')
        return 0;
    const char *end = r->at + 2;
    while (*end && !text_starts(end, ":]"))
        end++;
    if (!*end)
        return 0;
    r->at = end + 2;
    return 1;
}

static int read_brackets(struct reader *r) {
    uint32_t low, high;
    r->at++;
    r->at += *r->at == '^';
    for (int first = 1; first || *r->at != ']'; first = 0) {
        if (!*r->at)
            return fail(r, "a [ is not closed");
        if (skip_named_class(r))
            continue;
        if (!read_member(r, &low))
            return 0;
        if (low == A_CLASS || r->at[0] != '-' || r->at[1] == ']')
            continue;
        r->at++;
        if (!*r->at)
            return fail(r, "a [ is not closed");
        if (!read_member(r, &high))
            return 0;
        if (high == A_CLASS || high < low)
            return fail(r, "a range in brackets ends before it begins");
    }
    r->at++;
    read_some(r, 1);
    return 1;
}

/* ---- Groups ---- */

/* Behind (?: flags, a name or nothing. One that lasts to the end of the group around it, as (?i), opens none. */
static int read_kind_of_group(struct reader *r) {
    static const char fault[] = "a group begins in a way that RE2 has not, as (?= and (?! and (?<";
    int off = 0, flags = 0;
    if (r->at[0] == 'P' && r->at[1] == '<' && is_word(r->at[2])) {
        for (r->at += 2; is_word(*r->at); r->at++)
            ;
        r->open++;
        read_some(r, 0);
        return *r->at++ == '>' ? 1 : fail(r, fault);
    }
    for (;; r->at++) {
        if (*r->at == '-' && !off) {
            off = 1;
            flags = 0;
        } else if (*r->at && is_in(*r->at, "imsU")) {
            flags = 1;
        } else {
            break;
        }
    }
    char end = *r->at;
    if ((end != ':' && end != ')') || (off && !flags))
        return fail(r, fault);
    r->at++;
    if (end == ':') {
        r->open++;
        read_some(r, 0);
    } else {
        r->repeated = 0;
    }
    return 1;
}

static int read_parenthesis(struct reader *r) {
    r->at++;
    if (*r->at == '?') {
        r->at++;
        return read_kind_of_group(r);
    }
    r->open++;
    read_some(r, 0);
    return 1;
}

static int read_closing(struct reader *r) {
    r->at++;
    if (!r->open--)
        return fail(r, "a ) has no ( in front");
    read_some(r, 1);
    return 1;
}

/* ---- Repetitions ---- */

static int read_repetition(struct reader *r) {
    r->at += *r->at == '?';
    if (!r->repeatable)
        return fail(r, "a repetition has nothing in front");
    if (r->repeated)
        return fail(r, "a repetition is repeated");
    r->repeated = 1;
    return 1;
}

#define REPEATS_MAX 1000u

/* {2}, {2,} and {2,5}; any other brace stands for itself. */
static int read_brace(struct reader *r) {
    const char *at = r->at + 1;
    uint64_t least = 0, most = 0;
    int counted = text_number(&at, &least);
    int open_end = counted && at[0] == ',' && at[1] == '}';
    most = least;
    if (open_end)
        at++;
    else if (counted && *at == ',')
        counted = (at++, text_number(&at, &most));
    if (!counted || *at != '}') {
        r->at++;
        read_some(r, 1);
        return 1;
    }
    r->at = at + 1;
    if (least > REPEATS_MAX || most > REPEATS_MAX || most < least)
        return fail(r, "a number of repetitions is above 1000, or ends before it begins");
    return read_repetition(r);
}

static int read_one(struct reader *r) {
    switch (*r->at) {
    case '\\':
        return read_backslash(r);
    case '[':
        return read_brackets(r);
    case '(':
        return read_parenthesis(r);
    case ')':
        return read_closing(r);
    case '{':
        return read_brace(r);
    case '*':
    case '+':
    case '?':
        r->at++;
        return read_repetition(r);
    default:
        read_some(r, *r->at != '|');
        r->at++;
        return 1;
    }
}

const char *re2_fault(const char *expression) {
    struct reader r = {.at = expression};
    while (*r.at)
        if (!read_one(&r))
            return r.fault;
    return r.open ? "a ( is not closed" : NULL;
}
