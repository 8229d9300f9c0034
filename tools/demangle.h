/* SPDX-License-Identifier: Apache-2.0 */
/* Names as people write them, from names as the linker has them: C++ (Itanium ABI) and Rust (legacy and v0).
 *
 * Styles:  as `pprof -symbolize=demangle=STYLE` has them. SIMPLE is what pprof prints unless it is told otherwise:
 *          no parameters, no template arguments, no suffixes of the compiler's clones.
 * Bounds:  a name of more than DEMANGLE_NAME_MAX bytes, or whose demangled form has more than DEMANGLE_TEXT_MAX, is no
 *          help to anybody and stays as it is; templates can be made to grow without end from a short name.
 */
#ifndef CPROF_TOOLS_DEMANGLE_H
#define CPROF_TOOLS_DEMANGLE_H

#include <stdbool.h>
#include <stddef.h>

#define DEMANGLE_NAME_MAX 10000u
#define DEMANGLE_TEXT_MAX 16383u

enum demangle_style {
    DEMANGLE_SIMPLE,
    DEMANGLE_TEMPLATES, /* with template arguments */
    DEMANGLE_FULL,      /* with parameters as well */
    DEMANGLE_NONE,
};

/* Where a demangled name is put. */
struct demangled {
    size_t len;
    char text[DEMANGLE_TEXT_MAX + 1]; /* terminated */
};

/* Reads "simple", "templates", "full" or "none". */
bool demangle_parse_style(const char *text, enum demangle_style *style);

/* Demangles `name` into `out` and returns out->text, or returns `name` itself if it is not mangled or beyond the
 * bounds. Needs less than 1 MiB of stack. */
const char *demangle(const char *name, enum demangle_style style, struct demangled *out);

/* The same for a name that was put together from those in the source, with the scopes around it. */
const char *demangle_shorten(const char *name, enum demangle_style style, struct demangled *out);

#endif
