/* SPDX-License-Identifier: Apache-2.0 */
/* Tests that print the Test Anything Protocol, for prove.
 *
 * A test program calls ok() and is() and ends with `return tap_done();`. A failed check says where and what; the rest
 * go on. */
#ifndef CPROF_TESTS_UNIT_TAP_H
#define CPROF_TESTS_UNIT_TAP_H

#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static int tap_count;
static int tap_failures;

__attribute__((format(printf, 4, 5), unused)) static bool tap_check(bool good, const char *file, int line,
                                                                    const char *format, ...) {
    va_list args;
    va_start(args, format);
    printf("%sok %d - ", good ? "" : "not ", ++tap_count);
    vprintf(format, args);
    printf("\n");
    va_end(args);
    if (!good) {
        printf("# failed at %s:%d\n", file, line);
        tap_failures++;
    }
    fflush(stdout);
    return good;
}

__attribute__((unused)) static bool tap_is(int64_t got, int64_t want, const char *file, int line, const char *what) {
    bool good = tap_check(got == want, file, line, "%s", what);
    if (!good)
        printf("# got %" PRId64 ", want %" PRId64 "\n", got, want);
    return good;
}

__attribute__((unused)) static bool tap_is_text(const char *got, const char *want, const char *file, int line,
                                                const char *what) {
    bool good = tap_check(got && strcmp(got, want) == 0, file, line, "%s", what);
    if (!good)
        printf("# got '%s', want '%s'\n", got ? got : "(none)", want);
    return good;
}

#define ok(condition, ...) tap_check(condition, __FILE__, __LINE__, __VA_ARGS__)
#define is(got, want, what) tap_is((int64_t)(got), (int64_t)(want), __FILE__, __LINE__, what)
#define is_text(got, want, what) tap_is_text(got, want, __FILE__, __LINE__, what)

static inline int tap_done(void) {
    printf("1..%d\n", tap_count);
    return tap_failures > 0;
}

#endif
