/* SPDX-License-Identifier: Apache-2.0 */
/* Values with units, written as pprof writes them. */
#ifndef CPROF_TOOLS_UNITS_H
#define CPROF_TOOLS_UNITS_H

#include <stdbool.h>
#include <stdint.h>

#define UNITS_TEXT_MAX 96u

/* Whether values can be asked for in this unit: that of some kind of value, or one of the words that pprof has for it.
 */
bool units_is_known(const char *name);

/* A value in another unit. `to` "minimum" and "auto": the largest unit that leaves at least 1. *unit is the name of
 * the unit reached, static or `to` itself; "" if there is nothing to say, as for counts. */
double units_scale(int64_t value, const char *from, const char *to, const char **unit);

/* The same as text, at most two decimals and none if both are 0, with the unit behind. */
const char *units_label(int64_t value, const char *from, const char *to, char text[UNITS_TEXT_MAX]);

/* The part that `value` is of `total`, without sign, 6 characters wide with the % sign. */
const char *units_percentage(int64_t value, int64_t total, char text[UNITS_TEXT_MAX]);

#endif
