/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/tool.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void tool_error(const char *thing, const char *format, ...) {
    va_list args;
    /* What was printed so far comes first, also where both go to one file. */
    fflush(stdout);
    fprintf(stderr, "cprof: %s: ", thing);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
}

bool tool_choose(const char **chosen, const char *option) {
    if (*chosen && strcmp(*chosen, option) != 0) {
        tool_error(option, "contradicts %s", *chosen);
        return false;
    }
    *chosen = option;
    return true;
}

int tool_usage(const char *name) {
    fprintf(stderr, "Try 'cprof %s --help'.\n", name);
    return EXIT_USAGE;
}

bool tool_parse_bytes(const char *text, uint64_t *bytes) {
    uint64_t value = 0;
    if (*text < '0' || *text > '9')
        return false;
    for (; *text >= '0' && *text <= '9'; text++)
        if (__builtin_mul_overflow(value, 10, &value) || __builtin_add_overflow(value, (uint64_t)(*text - '0'), &value))
            return false;
    /* Powers of 1024, as the library's settings read them. */
    static const char suffixes[] = "KMGTkmgt";
    const char *suffix = *text ? strchr(suffixes, *text) : NULL;
    unsigned shift = suffix ? 10 * (unsigned)((suffix - suffixes) % 4 + 1) : 0;
    if (shift > 0)
        text++;
    if (*text != '\0' || value > UINT64_MAX >> shift)
        return false;
    *bytes = value << shift;
    return true;
}
