/* SPDX-License-Identifier: Apache-2.0 */
/* Regular expressions as pprof takes them (RE2's syntax), matched by the C library.
 *
 * Why:     a profile's drop_frames and pprof's options are written in RE2's syntax, and are matched against names of
 *          any length: by regcomp's automaton in time that grows with the name, unlike by backtracking.
 * Takes:   . [] [^] [[:class:]] \d \w \s \D \W \S \b \B \A \z \Q..\E \xHH | () (?:) (?P<name>) ^ $, the repeats * + ?
 * {n,m} also with ? behind, and (?i) in front of all. Characters are bytes, so outside of [] any text is understood.
 * Refuses: other flags, \p classes, characters beyond ASCII inside [], and what is too large (pattern_extent.h).
 */
#ifndef CPROF_TOOLS_PATTERN_H
#define CPROF_TOOLS_PATTERN_H

#include <regex.h>
#include <stdbool.h>
#include <stddef.h>

struct pattern {
    regex_t regex;
};

/* Compiles `text`; `whole`: it must match all of a text, not some part. False with *reason (static) if it can't be
 * understood. */
bool pattern_init(struct pattern *pattern, const char *text, size_t len, bool whole, const char **reason);

bool pattern_matches(const struct pattern *pattern, const void *text, size_t len);

void pattern_release(struct pattern *pattern);

#endif
