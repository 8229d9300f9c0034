/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/filter.h"

#include <errno.h>
#include <stdlib.h>

/* ---- Parts of the profile ---- */

/* Keeps the lines of which `keep` says so. */
static void keep_lines(ProfLocation *location, const bool *keep) {
    size_t kept = 0;
    for (size_t i = 0; i < location->n_line; i++) {
        if (keep[i])
            location->line[kept++] = location->line[i];
        else
            protobuf_c_message_free_unpacked(&location->line[i]->base, NULL);
    }
    location->n_line = kept;
}

/* Keeps the samples of which `keep` says so. */
static void keep_samples(ProfProfile *profile, const bool *keep) {
    size_t kept = 0;
    for (size_t i = 0; i < profile->n_sample; i++) {
        if (keep[i])
            profile->sample[kept++] = profile->sample[i];
        else
            protobuf_c_message_free_unpacked(&profile->sample[i]->base, NULL);
    }
    profile->n_sample = kept;
}

static void drop_leaves(ProfSample *sample, size_t count) {
    sample->n_location_id -= count;
    memmove(sample->location_id, sample->location_id + count, sample->n_location_id * sizeof sample->location_id[0]);
}

static ProtobufCBinaryData function_name(const ProfProfile *profile, const ProfLine *line) {
    return profile_text(profile, profile->function[line->function_id - 1]->name);
}

/* ---- drop_frames ---- */

static bool begins(ProtobufCBinaryData text, size_t at, const char *with) {
    size_t len = strlen(with);
    return text.len - at >= len && memcmp(text.data + at, with, len) == 0;
}

/* The name without its parameters, found as pprof does. */
static ProtobufCBinaryData simplified(ProtobufCBinaryData name) {
    static const char anonymous[] = "(anonymous namespace)", call[] = "operator()";
    if (name.len > 0 && name.data[0] == '.') {
        name.data++;
        name.len--;
    }
    for (size_t i = 0; i < name.len;) {
        if (begins(name, i, anonymous)) {
            i += sizeof anonymous - 1;
        } else if (begins(name, i, call)) {
            i += sizeof call - 1;
        } else if (name.data[i] == '(') {
            name.len = i;
        } else {
            i++;
        }
    }
    return name;
}

/* What happens to stacks at a location. */
enum cut {
    CUT_NONE,
    CUT_HERE,    /* the location goes, and what it called */
    CUT_BENEATH, /* it stays, without its inner functions */
};

/* For each location, by its inner functions being taken away where they must. NULL without memory. */
static unsigned char *find_cuts(ProfProfile *profile, const struct pattern *drop, const struct pattern *keep) {
    unsigned char *cuts = calloc(profile->n_location + 1, 1);
    bool *dropped = calloc(profile->n_function + 1, sizeof *dropped);
    for (size_t i = 0; cuts && dropped && i < profile->n_function; i++) {
        ProtobufCBinaryData name = simplified(profile_text(profile, profile->function[i]->name));
        dropped[i] = profile_text(profile, profile->function[i]->name).len > 0 &&
                     pattern_matches(drop, name.data, name.len) &&
                     !(keep && pattern_matches(keep, name.data, name.len));
    }
    for (size_t i = 0; cuts && dropped && i < profile->n_location; i++) {
        ProfLocation *location = profile->location[i];
        size_t line = location->n_line;
        while (line > 0 && !dropped[location->line[line - 1]->function_id - 1])
            line--;
        if (line == 0)
            continue;
        cuts[i] = line == location->n_line ? CUT_HERE : CUT_BENEATH;
        if (cuts[i] == CUT_BENEATH) {
            for (size_t k = 0; k < line; k++)
                protobuf_c_message_free_unpacked(&location->line[k]->base, NULL);
            location->n_line -= line;
            memmove(location->line, location->line + line, location->n_line * sizeof location->line[0]);
        }
    }
    free(dropped);
    if (!dropped) {
        free(cuts);
        return NULL;
    }
    return cuts;
}

static void cut_sample(ProfSample *sample, const unsigned char *cuts) {
    bool user = false;
    for (size_t i = sample->n_location_id; i-- > 0;) {
        unsigned char cut = cuts[sample->location_id[i] - 1];
        if (cut == CUT_NONE) {
            user = true;
        } else if (user) {
            drop_leaves(sample, cut == CUT_HERE ? i + 1 : i);
            return;
        }
    }
}

static int prune(ProfProfile *profile, const struct pattern *drop, const struct pattern *keep) {
    unsigned char *cuts = find_cuts(profile, drop, keep);
    if (!cuts)
        return -ENOMEM;
    for (size_t i = 0; i < profile->n_sample; i++)
        cut_sample(profile->sample[i], cuts);
    free(cuts);
    return 0;
}

int filter_drop_frames(ProfProfile *profile, const char **reason) {
    ProtobufCBinaryData drop_text = profile_text(profile, profile->drop_frames);
    ProtobufCBinaryData keep_text = profile_text(profile, profile->keep_frames);
    struct pattern drop, keep;
    if (drop_text.len == 0)
        return 0;
    if (!pattern_init(&drop, (const char *)drop_text.data, drop_text.len, true, reason))
        return -EINVAL;
    int rc = -EINVAL;
    if (keep_text.len == 0) {
        rc = prune(profile, &drop, NULL);
    } else if (pattern_init(&keep, (const char *)keep_text.data, keep_text.len, true, reason)) {
        rc = prune(profile, &drop, &keep);
        pattern_release(&keep);
    }
    pattern_release(&drop);
    return rc;
}

/* ---- By name ---- */

static bool text_matches(const ProfProfile *profile, int64_t index, const struct pattern *pattern) {
    ProtobufCBinaryData text = profile_text(profile, index);
    return pattern_matches(pattern, text.data, text.len);
}

static bool line_matches(const ProfProfile *profile, const ProfLine *line, const struct pattern *pattern) {
    ProtobufCBinaryData name = function_name(profile, line);
    return pattern_matches(pattern, name.data, name.len) ||
           text_matches(profile, profile->function[line->function_id - 1]->filename, pattern);
}

static bool mapping_matches(const ProfProfile *profile, const ProfLocation *location, const struct pattern *pattern) {
    return location->mapping_id != 0 &&
           text_matches(profile, profile->mapping[location->mapping_id - 1]->filename, pattern);
}

static bool location_matches(const ProfProfile *profile, const ProfLocation *location, const struct pattern *pattern) {
    for (size_t i = 0; i < location->n_line; i++)
        if (line_matches(profile, location->line[i], pattern))
            return true;
    return mapping_matches(profile, location, pattern);
}

/* Leaves the lines that match, or those that don't. */
static int filter_lines(const ProfProfile *profile, ProfLocation *location, const struct pattern *pattern,
                        bool wanted) {
    bool *keep = calloc(location->n_line + 1, sizeof *keep);
    if (!keep)
        return -ENOMEM;
    bool file = mapping_matches(profile, location, pattern);
    for (size_t i = 0; i < location->n_line; i++)
        keep[i] = (file || line_matches(profile, location->line[i], pattern)) == wanted;
    keep_lines(location, keep);
    free(keep);
    return 0;
}

/* What a location means for a sample. */
struct mark {
    bool focused, ignored, hidden;
};

static int mark_location(const ProfProfile *profile, ProfLocation *location, const struct filter_names *names,
                         struct filter_matched *matched, struct mark *mark) {
    int rc = 0;
    if (names->ignore && location_matches(profile, location, names->ignore))
        matched->ignore = mark->ignored = true;
    else if (!names->focus || location_matches(profile, location, names->focus))
        matched->focus = mark->focused = true;
    if (names->hide && location_matches(profile, location, names->hide)) {
        matched->hide = true;
        rc = filter_lines(profile, location, names->hide, false);
        mark->hidden = location->n_line == 0;
    }
    if (rc == 0 && names->show) {
        rc = filter_lines(profile, location, names->show, true);
        mark->hidden |= location->n_line == 0;
        matched->show |= location->n_line > 0;
    }
    return rc;
}

/* Takes the hidden locations from a sample. False if it is not wanted, or nothing is left of it. */
static bool filter_sample(ProfSample *sample, const struct mark *marks) {
    size_t kept = 0;
    bool focused = false, hidden = false;
    for (size_t i = 0; i < sample->n_location_id; i++) {
        const struct mark *mark = &marks[sample->location_id[i] - 1];
        if (mark->ignored)
            return false;
        focused |= mark->focused;
        hidden |= mark->hidden;
        if (!mark->hidden)
            sample->location_id[kept++] = sample->location_id[i];
    }
    sample->n_location_id = kept;
    return focused && (kept > 0 || !hidden);
}

int filter_names(ProfProfile *profile, const struct filter_names *names, struct filter_matched *matched) {
    *matched = (struct filter_matched){0};
    if (!names->focus && !names->ignore && !names->hide && !names->show)
        return 0;
    struct mark *marks = calloc(profile->n_location + 1, sizeof *marks);
    bool *keep = calloc(profile->n_sample + 1, sizeof *keep);
    int rc = marks && keep ? 0 : -ENOMEM;
    for (size_t i = 0; rc == 0 && i < profile->n_location; i++)
        rc = mark_location(profile, profile->location[i], names, matched, &marks[i]);
    if (rc == 0) {
        for (size_t i = 0; i < profile->n_sample; i++)
            keep[i] = filter_sample(profile->sample[i], marks);
        keep_samples(profile, keep);
    }
    free(marks);
    free(keep);
    return rc;
}

/* ---- By label ---- */

int filter_tags(ProfProfile *profile, const struct tag_pattern *focus, const struct tag_pattern *ignore,
                struct filter_matched *matched) {
    *matched = (struct filter_matched){0};
    if (!focus && !ignore)
        return 0;
    bool *keep = calloc(profile->n_sample + 1, sizeof *keep);
    int rc = keep ? 0 : -ENOMEM;
    for (size_t i = 0; rc == 0 && i < profile->n_sample; i++) {
        int focused = focus ? tag_pattern_matches(focus, profile, profile->sample[i]) : 1;
        int ignored = ignore ? tag_pattern_matches(ignore, profile, profile->sample[i]) : 0;
        if (focused < 0 || ignored < 0)
            rc = -ENOMEM;
        matched->focus |= focused > 0;
        matched->ignore |= ignored > 0;
        keep[i] = focused > 0 && ignored == 0;
    }
    if (rc == 0)
        keep_samples(profile, keep);
    free(keep);
    return rc;
}
