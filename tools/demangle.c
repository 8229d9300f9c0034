/* SPDX-License-Identifier: Apache-2.0 */
/* How: libiberty's demanglers print through a callback, in small pieces and without memory of their own, so that one
 * that goes on too long can be left by longjmp. */
#include "tools/demangle.h"

#include <libiberty/demangle.h>

#include <setjmp.h>
#include <string.h>

bool demangle_parse_style(const char *text, enum demangle_style *style) {
    static const char *const names[] = {
        [DEMANGLE_SIMPLE] = "simple",
        [DEMANGLE_TEMPLATES] = "templates",
        [DEMANGLE_FULL] = "full",
        [DEMANGLE_NONE] = "none",
    };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(text, names[i]) == 0) {
            *style = (enum demangle_style)i;
            return true;
        }
    return false;
}

struct printing {
    struct demangled *out;
    jmp_buf too_long;
};

static void print(const char *text, size_t len, void *ctx) {
    struct printing *printing = ctx;
    struct demangled *out = printing->out;
    if (len > DEMANGLE_TEXT_MAX - out->len)
        longjmp(printing->too_long, 1);
    memcpy(out->text + out->len, text, len);
    out->len += len;
}

typedef int demangler(const char *mangled, int options, demangle_callbackref callback, void *ctx);

static bool run(demangler *with, const char *name, int options, struct demangled *out) {
    struct printing printing = {.out = out};
    out->len = 0;
    if (setjmp(printing.too_long) != 0)
        return false;
    if (!with(name, options, print, &printing) || out->len == 0)
        return false;
    out->text[out->len] = '\0';
    return true;
}

/* ---- Leaving out template arguments ---- */

/* Length of an operator's name that has < or > in it, at the start of `text`; 0 if there is none. */
static size_t angled_operator(const char *text) {
    static const char *const names[] = {
        "operator<=>", "operator<<=", "operator>>=", "operator->*", "operator<<", "operator>>",
        "operator<=",  "operator>=",  "operator->",  "operator<",   "operator>"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strncmp(text, names[i], strlen(names[i])) == 0)
            return strlen(names[i]);
    return 0;
}

static bool in_word(char c) {
    return c == '_' || c == '$' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static struct demangled scratch;

static void take(struct demangled *name, const struct demangled *kept) {
    memcpy(name->text, kept->text, kept->len);
    name->text[kept->len] = '\0';
    name->len = kept->len;
}

/* Nothing is changed if the brackets don't match. */
static void strip_templates(struct demangled *name) {
    struct demangled *kept = &scratch;
    unsigned depth = 0;
    kept->len = 0;

    for (size_t i = 0; i < name->len;) {
        const char *at = name->text + i;
        size_t op = i == 0 || !in_word(at[-1]) ? angled_operator(at) : 0;
        size_t step = op > 0 ? op : 1;
        /* A space only keeps an operator's name apart from its arguments. */
        bool spaced = op > 0 && at[op] == ' ' && at[op + 1] == '<';
        bool arrow = at[0] == '-' && at[1] == '>';
        if (arrow && op == 0)
            step = 2; /* in the type of a decltype */
        if (step == 1 && at[0] == '<') {
            depth++;
        } else if (step == 1 && at[0] == '>') {
            if (depth-- == 0)
                return;
        } else if (depth == 0) {
            memcpy(kept->text + kept->len, at, step);
            kept->len += step;
        }
        i += step + spaced;
    }
    if (depth == 0)
        take(name, kept);
}

/* ---- Names that are not mangled ---- */

/* Takes out what is between two brackets, which may be nested. Nothing if they don't match. */
static void remove_bracketed(struct demangled *name, char open, char close) {
    struct demangled *kept = &scratch;
    unsigned depth = 0;
    kept->len = 0;
    for (size_t i = 0; i < name->len; i++) {
        char c = name->text[i];
        if (c == close && depth-- == 0)
            return;
        depth += c == open;
        if (depth == 0 && c != close)
            kept->text[kept->len++] = c;
    }
    /* What is not closed stays. */
    if (depth == 0)
        take(name, kept);
}

/* Go and Java have names with such characters, too. */
static bool looks_like_cxx(const char *name) {
    if (strstr(name, ".<") || strstr(name, "])."))
        return false;
    return strpbrk(name, "<>[]") || strstr(name, "::");
}

static const char *shorten(const char *name, enum demangle_style style, struct demangled *out) {
    if (style == DEMANGLE_FULL || style == DEMANGLE_NONE || name[0] == '[' || !looks_like_cxx(name))
        return name;
    out->len = strlen(name);
    if (out->len > DEMANGLE_NAME_MAX)
        return name;
    memcpy(out->text, name, out->len + 1);
    remove_bracketed(out, '(', ')');
    if (style == DEMANGLE_SIMPLE)
        remove_bracketed(out, '<', '>');
    return out->len > 0 && strcmp(out->text, name) != 0 ? out->text : name;
}

const char *demangle_shorten(const char *name, enum demangle_style style, struct demangled *out) {
    out->len = strlen(name);
    if (style != DEMANGLE_SIMPLE || out->len > DEMANGLE_NAME_MAX)
        return name;
    memcpy(out->text, name, out->len + 1);
    strip_templates(out);
    return out->text;
}

const char *demangle(const char *name, enum demangle_style style, struct demangled *out) {
    bool cxx = strncmp(name, "_Z", 2) == 0 || strncmp(name, "_GLOBAL_", 8) == 0;
    bool rust = strncmp(name, "_R", 2) == 0 || strncmp(name, "_ZN", 3) == 0;
    if (!cxx && !rust)
        return shorten(name, style, out);
    if (style == DEMANGLE_NONE || strlen(name) > DEMANGLE_NAME_MAX)
        return name;
    if (rust && run(rust_demangle_callback, name, DMGL_ANSI, out))
        return out->text;
    int options = DMGL_ANSI | (style == DEMANGLE_FULL ? DMGL_PARAMS : 0);
    if (!cxx || !run(cplus_demangle_v3_callback, name, options, out))
        return name;
    if (style == DEMANGLE_SIMPLE)
        strip_templates(out);
    return out->text;
}
