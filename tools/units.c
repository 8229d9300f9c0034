/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/units.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

struct unit {
    const char *name;
    const char *aliases[4];
    double factor;
};

struct unit_kind {
    struct unit units[8];
    const char *fallback; /* what is used where nothing else fits */
    double fallback_factor;
};

/* As pprof has them, which knows CPU time as well. */
static const struct unit_kind kinds[] = {
    {
        .units =
            {
                {"B", {"b", "byte"}, 1},
                {"kB", {"kb", "kbyte", "kilobyte"}, 1024.0},
                {"MB", {"mb", "mbyte", "megabyte"}, 1048576.0},
                {"GB", {"gb", "gbyte", "gigabyte"}, 1073741824.0},
                {"TB", {"tb", "tbyte", "terabyte"}, 1099511627776.0},
                {"PB", {"pb", "pbyte", "petabyte"}, 1125899906842624.0},
            },
        .fallback = "B",
        .fallback_factor = 1,
    },
    {
        .units =
            {
                {"ns", {"ns", "nanosecond"}, 1},
                {"us", {"\u03bcs", "us", "microsecond"}, 1e3},
                {"ms", {"ms", "millisecond"}, 1e6},
                {"s", {"s", "sec", "second"}, 1e9},
                {"hrs", {"hour", "hr"}, 3.6e12},
            },
        .fallback = "s",
        .fallback_factor = 1e9,
    },
};

static const struct unit *find_unit(const struct unit_kind *kind, const char *name) {
    size_t len = strlen(name);
    if (len > 2 && (name[len - 1] == 's' || name[len - 1] == 'S'))
        len--;
    for (const struct unit *unit = kind->units; unit->name; unit++)
        for (size_t i = 0; i < 4 && unit->aliases[i]; i++)
            if (strlen(unit->aliases[i]) == len && strncasecmp(unit->aliases[i], name, len) == 0)
                return unit;
    return NULL;
}

static bool is_automatic(const char *unit) {
    return strcmp(unit, "minimum") == 0 || strcmp(unit, "auto") == 0;
}

/* Those of what is merely counted, which go without. */
static bool is_dull(const char *unit) {
    return strcmp(unit, "count") == 0 || strcmp(unit, "sample") == 0 || strcmp(unit, "unit") == 0;
}

bool units_is_known(const char *name) {
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (find_unit(&kinds[i], name))
            return true;
    return is_automatic(name) || is_dull(name);
}

static double scale_in(const struct unit_kind *kind, double value, const char *to, const char **name) {
    const struct unit *unit = NULL;
    if (is_automatic(to)) {
        for (const struct unit *u = kind->units; u->name; u++)
            if (value / u->factor >= 1.0)
                unit = u;
    } else {
        unit = find_unit(kind, to);
    }
    *name = unit ? unit->name : kind->fallback;
    return value / (unit ? unit->factor : kind->fallback_factor);
}

double units_scale(int64_t value, const char *from, const char *to, const char **unit) {
    if (value < 0 && value != INT64_MIN)
        return -units_scale(-value, from, to, unit);
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        const struct unit *known = find_unit(&kinds[i], from);
        if (known)
            return scale_in(&kinds[i], (double)value * known->factor, to, unit);
    }
    *unit = is_automatic(to) || is_dull(to) ? "" : to;
    return (double)value;
}

const char *units_label(int64_t value, const char *from, const char *to, char text[UNITS_TEXT_MAX]) {
    const char *unit;
    double scaled = units_scale(value, from, to, &unit);
    int len = snprintf(text, UNITS_TEXT_MAX, "%.2f", scaled);
    if (len > 3 && strcmp(text + len - 3, ".00") == 0)
        text[len -= 3] = '\0';
    if (strcmp(text, "0") == 0 || strcmp(text, "-0") == 0)
        return "0";
    snprintf(text + len, UNITS_TEXT_MAX - (size_t)len, "%s", unit);
    return text;
}

const char *units_percentage(int64_t value, int64_t total, char text[UNITS_TEXT_MAX]) {
    double ratio = total != 0 ? fabs((double)value / (double)total) * 100 : 0;
    if (ratio >= 99.95 && ratio <= 100.05)
        return "  100%";
    snprintf(text, UNITS_TEXT_MAX, ratio >= 1.0 ? "%5.2f%%" : "%5.2g%%", ratio);
    return text;
}
