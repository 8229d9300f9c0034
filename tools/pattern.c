/* SPDX-License-Identifier: Apache-2.0 */
/* How: what RE2 and POSIX write differently is rewritten, everything else is copied. */
#include "tools/pattern.h"

#include "tools/pattern_extent.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

struct rewriting {
    const char *at, *end;
    char *out; /* room for all there can be */
    size_t len;
    bool ignore_case;
    const char *reason;
    struct extent *extent; /* of what is written so far */
};

/* A set of bytes takes at most this when written out. */
#define SET_TEXT_MAX 270u

static void put(struct rewriting *r, const char *text) {
    size_t len = strlen(text);
    memcpy(r->out + r->len, text, len);
    r->len += len;
}

static void put_byte(struct rewriting *r, char byte) {
    r->out[r->len++] = byte;
}

static bool refuse(struct rewriting *r, const char *reason) {
    r->reason = reason;
    return false;
}

/* What was written becomes this much: false with the reason if that is too much. */
static bool allow(struct rewriting *r, bool allowed) {
    return allowed || refuse(r, r->extent->reason);
}

static bool starts(const struct rewriting *r, const char *text) {
    size_t len = strlen(text);
    return (size_t)(r->end - r->at) >= len && memcmp(r->at, text, len) == 0;
}

static bool put_literal(struct rewriting *r, char byte) {
    if (byte == '\0')
        return refuse(r, "it has a zero byte");
    if (strchr(".[{}()*+?^$|\\", byte))
        put_byte(r, '\\');
    put_byte(r, byte);
    return allow(r, extent_piece(r->extent));
}

/* ---- Sets of bytes ---- */

typedef bool byte_set[256];

static bool put_set(struct rewriting *r, const byte_set set) {
    unsigned count = 0;
    for (unsigned i = 1; i < 256; i++)
        count += set[i];
    bool negated = count > 128;
    put(r, negated ? "[^" : "[");
    /* In brackets only place tells what is meant by ], ^ and -; [ may not be followed by . = or :. */
    if (set[']'] != negated)
        put_byte(r, ']');
    for (unsigned i = 1; i < 256; i++)
        if (set[i] != negated && !strchr("]^-[", (int)i))
            put_byte(r, (char)i);
    if (set['['] != negated)
        put_byte(r, '[');
    if (set['^'] != negated)
        put_byte(r, '^');
    if (set['-'] != negated)
        put_byte(r, '-');
    put_byte(r, ']');
    return allow(r, extent_piece(r->extent));
}

static bool add_class(byte_set set, char class) {
    bool inside = islower((unsigned char)class) != 0;
    for (unsigned i = 1; i < 256; i++) {
        bool in;
        switch (tolower((unsigned char)class)) {
        case 'd':
            in = i >= '0' && i <= '9';
            break;
        case 'w':
            in = i < 128 && (isalnum((int)i) || i == '_');
            break;
        case 's':
            in = i == ' ' || (i >= '\t' && i <= '\r' && i != '\v');
            break;
        default:
            return false;
        }
        set[i] |= in == inside;
    }
    return true;
}

static bool add_posix_class(struct rewriting *r, byte_set set) {
    static const struct {
        const char *name;
        int (*has)(int);
    } classes[] = {
        {"[:alpha:]", isalpha}, {"[:digit:]", isdigit}, {"[:alnum:]", isalnum}, {"[:upper:]", isupper},
        {"[:lower:]", islower}, {"[:space:]", isspace}, {"[:punct:]", ispunct}, {"[:xdigit:]", isxdigit},
    };
    for (size_t c = 0; c < sizeof classes / sizeof classes[0]; c++) {
        if (!starts(r, classes[c].name))
            continue;
        for (int i = 1; i < 128; i++)
            set[i] |= classes[c].has(i) != 0;
        r->at += strlen(classes[c].name);
        return true;
    }
    return false;
}

/* The byte that an escape stands for; -1 if it is no byte. `at` is behind the backslash, and goes behind the escape. */
static int escaped_byte(struct rewriting *r) {
    static const char names[] = "abfnrtv", bytes[] = "\a\b\f\n\r\t\v";
    char c = *r->at;
    if (c == 'x' && r->end - r->at >= 3 && isxdigit((unsigned char)r->at[1]) && isxdigit((unsigned char)r->at[2])) {
        char digits[3] = {r->at[1], r->at[2], '\0'};
        r->at += 3;
        return (int)strtol(digits, NULL, 16);
    }
    const char *name = memchr(names, c, sizeof names - 1);
    if (!name && (isalnum((unsigned char)c) || c == '\0'))
        return -1;
    r->at++;
    return name ? bytes[name - names] : (unsigned char)c;
}

/* One byte of a set, or -1 after a whole class. False: neither. */
static bool set_member(struct rewriting *r, byte_set set, int *byte) {
    *byte = -1;
    if (*r->at == '[' && add_posix_class(r, set))
        return true;
    if ((unsigned char)*r->at >= 128)
        return refuse(r, "characters beyond ASCII in [ ] are not understood");
    if (*r->at != '\\') {
        *byte = (unsigned char)*r->at++;
        return true;
    }
    if (++r->at == r->end)
        return refuse(r, "it ends in a backslash");
    if (add_class(set, *r->at)) {
        r->at++;
        return true;
    }
    *byte = escaped_byte(r);
    return *byte >= 0 || refuse(r, "an escape in [ ] is not understood");
}

/* `at` is behind the opening bracket. */
static bool rewrite_set(struct rewriting *r) {
    byte_set set = {false};
    bool negated = r->at < r->end && *r->at == '^';
    r->at += negated;
    for (bool first = true; r->at < r->end && (first || *r->at != ']'); first = false) {
        int low, high;
        if (!set_member(r, set, &low))
            return false;
        high = low;
        if (low >= 0 && r->end - r->at >= 2 && r->at[0] == '-' && r->at[1] != ']') {
            r->at++;
            if (!set_member(r, set, &high))
                return false;
            if (high < low)
                return refuse(r, "a range in [ ] ends before it begins");
        }
        for (int i = low; i >= 0 && i <= high; i++)
            set[i] = true;
    }
    if (r->at == r->end)
        return refuse(r, "a [ is not closed");
    r->at++;
    for (unsigned i = 1; negated && i < 256; i++)
        set[i] = !set[i];
    set[0] = false;
    return put_set(r, set);
}

/* ---- Everything else ---- */

static bool rewrite_quoted(struct rewriting *r) {
    for (; r->at < r->end && !starts(r, "\\E"); r->at++)
        if (!put_literal(r, *r->at))
            return false;
    if (r->at < r->end)
        r->at += 2;
    return true;
}

/* `at` is behind the backslash. */
static bool rewrite_escape(struct rewriting *r) {
    byte_set set = {false};
    if (r->at == r->end)
        return refuse(r, "it ends in a backslash");
    char c = *r->at;
    if (add_class(set, c)) {
        r->at++;
        return put_set(r, set);
    }
    const char *known = c == 'b' ? "\\b" : c == 'B' ? "\\B" : c == 'A' ? "^" : c == 'z' ? "$" : NULL;
    if (known || c == 'Q') {
        r->at++;
        if (!known)
            return rewrite_quoted(r);
        put(r, known);
        return allow(r, extent_anchor(r->extent));
    }
    int byte = escaped_byte(r);
    if (byte < 0)
        return refuse(r, "an escape is not understood");
    return put_literal(r, (char)byte);
}

/* `at` is behind the opening parenthesis. */
static bool rewrite_group(struct rewriting *r) {
    put_byte(r, '(');
    if (!allow(r, extent_open(r->extent)))
        return false;
    if (r->at == r->end || *r->at != '?')
        return true;
    const char *name = memchr(r->at, '>', (size_t)(r->end - r->at));
    if (starts(r, "?:"))
        r->at += 2;
    else if (starts(r, "?P<") && name)
        r->at = name + 1;
    else
        return refuse(r, "a (? is not understood");
    return true;
}

/* A brace is a repeat only if it has numbers in it. */
static bool is_repeat(const struct rewriting *r) {
    const char *at = r->at + 1;
    const char *digits = at;
    while (at < r->end && isdigit((unsigned char)*at))
        at++;
    if (at == digits)
        return false;
    if (at < r->end && *at == ',')
        for (at++; at < r->end && isdigit((unsigned char)*at); at++)
            continue;
    return at < r->end && *at == '}';
}

/* Moves behind a number, which saturates beyond all that is allowed. */
static unsigned read_count(const char **at) {
    unsigned count = 0;
    for (; isdigit((unsigned char)**at); ++*at)
        if (count <= EXTENT_COUNT_MAX)
            count = 10 * count + (unsigned)(**at - '0');
    return count;
}

/* Counts those of the repeat at `at`. */
static bool count_repeat(const struct rewriting *r) {
    const char *at = r->at;
    if (*at != '{')
        return extent_repeat(r->extent, *at == '+', 1, *at != '?', false);
    at++;
    unsigned min = read_count(&at), max = min;
    bool range = *at == ',';
    bool endless = range && at[1] == '}';
    at += range;
    if (range && !endless)
        max = read_count(&at);
    return extent_repeat(r->extent, min, max, endless, true);
}

static bool rewrite_repeat(struct rewriting *r) {
    if (!allow(r, count_repeat(r)))
        return false;
    const char *last = *r->at == '{' ? memchr(r->at, '}', (size_t)(r->end - r->at)) : r->at;
    while (r->at <= last)
        put_byte(r, *r->at++);
    /* Whether it takes as much or as little as it can makes no difference to whether it matches. */
    if (r->at < r->end && *r->at == '?')
        r->at++;
    return true;
}

/* What is written alike. */
static bool rewrite_operator(struct rewriting *r, char c) {
    put_byte(r, c);
    return allow(r, c == '.'   ? extent_piece(r->extent)
                    : c == ')' ? extent_close(r->extent)
                    : c == '|' ? extent_alternative(r->extent)
                               : extent_anchor(r->extent));
}

/* All bytes of a character are repeated together. */
static bool rewrite_character(struct rewriting *r) {
    bool good = allow(r, extent_open(r->extent));
    put_byte(r, '(');
    do {
        good = good && allow(r, extent_piece(r->extent));
        put_byte(r, *r->at++);
    } while (r->at < r->end && ((unsigned char)*r->at & 0xc0) == 0x80);
    put_byte(r, ')');
    return good && allow(r, extent_close(r->extent));
}

static bool rewrite_one(struct rewriting *r) {
    char c = *r->at;
    if (c == '*' || c == '+' || c == '?' || (c == '{' && is_repeat(r)))
        return rewrite_repeat(r);
    if ((unsigned char)c >= 0xc0)
        return rewrite_character(r);
    r->at++;
    if (c == '\\')
        return rewrite_escape(r);
    if (c == '[')
        return rewrite_set(r);
    if (c == '(')
        return rewrite_group(r);
    return strchr(".|)^$", c) && c != '\0' ? rewrite_operator(r, c) : put_literal(r, c);
}

bool pattern_init(struct pattern *pattern, const char *text, size_t len, bool whole, const char **reason) {
    struct rewriting r = {.at = text, .end = text + len};
    r.out = len < (1u << 20) ? malloc((len + 1) * SET_TEXT_MAX + 8) : NULL;
    r.extent = calloc(1, sizeof *r.extent);
    *reason = "it takes too much memory";
    if (!r.out || !r.extent) {
        free(r.out);
        free(r.extent);
        return false;
    }
    if (starts(&r, "(?i)")) {
        r.ignore_case = true;
        r.at += 4;
    }
    if (whole)
        put(&r, "^(");
    bool good = true;
    while (good && r.at < r.end)
        good = rewrite_one(&r);
    if (good) {
        put(&r, whole ? ")$" : "");
        put_byte(&r, '\0');
        int rc = regcomp(&pattern->regex, r.out, REG_EXTENDED | REG_NOSUB | (r.ignore_case ? REG_ICASE : 0));
        good = rc == 0;
        if (rc != 0 && rc != REG_ESPACE)
            *reason = rc == REG_EPAREN ? "parentheses don't match" : "it is not a regular expression";
    } else {
        *reason = r.reason;
    }
    free(r.out);
    free(r.extent);
    return good;
}

static bool matches(const struct pattern *pattern, const char *text, size_t len) {
    regmatch_t range = {.rm_so = 0, .rm_eo = (regoff_t)len};
    return regexec(&pattern->regex, text, 1, &range, REG_STARTEND) == 0;
}

bool pattern_matches(const struct pattern *pattern, const void *text, size_t len) {
    char small[4096];
    /* regexec goes by the length; sanitizers want a zero at the end all the same. */
    char *copy = len < sizeof small ? small : malloc(len + 1);
    if (!copy)
        return matches(pattern, text, len);
    memcpy(copy, text, len);
    copy[len] = '\0';
    bool found = matches(pattern, copy, len);
    if (copy != small)
        free(copy);
    return found;
}

void pattern_release(struct pattern *pattern) {
    regfree(&pattern->regex);
}
