/* SPDX-License-Identifier: Apache-2.0 */
/* CPROF_ONLY: comma-separated patterns, as those of a shell, for names of executables. The library goes by it, and
 * `cprof doctor` foretells what it will do. */
#ifndef CPROF_INTERCEPT_ONLY_H
#define CPROF_INTERCEPT_ONLY_H

#include <fnmatch.h>
#include <stddef.h>

#define ONLY_PATTERN_MAX 256u /* longer than any name; the rest of a pattern is cut off */

/* Takes the next pattern from the list; NULL at its end. */
static inline const char *only_next(const char *list, char pattern[ONLY_PATTERN_MAX]) {
    size_t len = 0;
    if (!*list)
        return NULL;
    for (; *list && *list != ','; list++)
        if (len < ONLY_PATTERN_MAX - 1)
            pattern[len++] = *list;
    pattern[len] = '\0';
    return *list ? list + 1 : list;
}

/* An empty list is for all. */
static inline int only_wants(const char *list, const char *name) {
    char pattern[ONLY_PATTERN_MAX];
    if (!*list)
        return 1;
    while ((list = only_next(list, pattern)))
        if (fnmatch(pattern, name, 0) == 0)
            return 1;
    return 0;
}

#endif
