/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/select.h"

#include "tools/filter.h"
#include "tools/load.h"
#include "tools/merge.h"
#include "tools/symbolize.h"

#include "proto/reader.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

const char *const select_filter_names[SELECT_FILTERS] = {"focus", "ignore", "hide", "show", "tagfocus", "tagignore"};

/* ---- The command line ---- */

static bool is_by_label(size_t filter) {
    return filter >= SELECT_NAME_FILTERS;
}

static void release_filter(struct select *select, size_t i) {
    struct select_filter *filter = &select->filters[i];
    if (filter->text && is_by_label(i))
        tag_pattern_release(&filter->tags);
    else if (filter->text)
        pattern_release(&filter->pattern);
    filter->text = NULL;
}

static bool set_filter(struct select *select, size_t i, const char *text) {
    struct select_filter *filter = &select->filters[i];
    const char *reason;
    release_filter(select, i);
    if (is_by_label(i) ? !tag_pattern_init(&filter->tags, text, &reason)
                       : !pattern_init(&filter->pattern, text, strlen(text), false, &reason)) {
        tool_error(text, "not a regular expression that is understood: %s", reason);
        return false;
    }
    filter->text = text;
    return true;
}

bool select_option(struct select *select, int option) {
    static const char *const types[] = {"-alloc_space", "-alloc_objects", "-inuse_space", "-inuse_objects"};
    if (option >= SELECT_ALLOC_SPACE && option <= SELECT_INUSE_OBJECTS) {
        select->type = types[option - SELECT_ALLOC_SPACE] + 1;
        return tool_choose(&select->type_option, types[option - SELECT_ALLOC_SPACE]);
    } else if (option == SELECT_SAMPLE_INDEX) {
        select->type = optarg;
        return tool_choose(&select->type_option, "-sample_index");
    } else if (option == SELECT_BASE) {
        select->base = optarg;
    } else if (option == SELECT_SYMBOLIZE) {
        select->leave_names = strcmp(optarg, "no") == 0 || strcmp(optarg, "none") == 0;
        if (select->leave_names || strcmp(optarg, "yes") == 0 || strcmp(optarg, "local") == 0)
            return true;
        tool_error(optarg, "neither yes nor no");
        return false;
    } else {
        return set_filter(select, (size_t)(option - SELECT_FOCUS), optarg);
    }
    return true;
}

/* ---- Profiles ---- */

static ProfProfile *load_named(const struct select *select, const char *file, int *code) {
    static const struct symbolize_options how = {.style = DEMANGLE_SIMPLE};
    struct symbolize_result result;
    ProfProfile *profile = load_profile(file, code);
    if (profile && !select->leave_names && symbolize_profile(profile, &how, &result) != 0) {
        tool_error(file, "out of memory");
        *code = EXIT_SYSTEM;
        profile_free(profile);
        return NULL;
    }
    return profile;
}

static int merge_file(const struct select *select, ProfProfile *profile, const char *file, bool subtract) {
    const char *reason;
    int code;
    ProfProfile *other = load_named(select, file, &code);
    if (!other)
        return code;
    int rc = subtract ? merge_subtract(profile, other, &reason) : merge_add(profile, other, &reason);
    profile_free(other);
    if (rc != 0)
        tool_error(file, "%s", rc == -EINVAL ? reason : "out of memory");
    return rc == 0 ? EXIT_OK : rc == -EINVAL ? EXIT_INPUT : EXIT_SYSTEM;
}

/* Selects by names and labels, and says what matched nothing. */
static int apply_filters(const struct select *select, ProfProfile *profile) {
    const struct pattern *patterns[SELECT_NAME_FILTERS];
    const struct select_filter *by_label = select->filters + SELECT_NAME_FILTERS;
    struct filter_matched named, tagged;
    for (size_t i = 0; i < SELECT_NAME_FILTERS; i++)
        patterns[i] = select->filters[i].text ? &select->filters[i].pattern : NULL;
    struct filter_names names = {patterns[0], patterns[1], patterns[2], patterns[3]};
    int rc = filter_names(profile, &names, &named);
    if (rc == 0)
        rc = filter_tags(profile, by_label[0].text ? &by_label[0].tags : NULL,
                         by_label[1].text ? &by_label[1].tags : NULL, &tagged);
    if (rc != 0)
        return rc;
    const bool hit[SELECT_FILTERS] = {named.focus, named.ignore, named.hide, named.show, tagged.focus, tagged.ignore};
    for (size_t i = 0; i < SELECT_FILTERS; i++)
        if (select->filters[i].text && !hit[i])
            tool_error(select->filters[i].text, "%s matched nothing", select_filter_names[i]);
    return 0;
}

static int drop_and_filter(const struct select *select, ProfProfile *profile, const char *file) {
    const char *reason;
    int rc = filter_drop_frames(profile, &reason);
    /* pprof goes on as if there were none, and silently. */
    if (rc == -EINVAL)
        tool_error(file, "drop_frames is not used: %s", reason);
    if (rc == -ENOMEM || apply_filters(select, profile) != 0) {
        tool_error(file, "out of memory");
        return EXIT_SYSTEM;
    }
    return EXIT_OK;
}

static bool has_negative(const ProfProfile *profile) {
    for (size_t i = 0; i < profile->n_sample; i++)
        for (size_t k = 0; k < profile->sample[i]->n_value; k++)
            if (profile->sample[i]->value[k] < 0)
                return true;
    return false;
}

ProfProfile *select_load(const struct select *select, char *const *files, int count,
                         void (*before)(void *ctx, const ProfProfile *profile), void *ctx, int *code) {
    ProfProfile *profile = load_named(select, files[0], code);
    if (!profile)
        return NULL;
    for (int i = 1; *code == EXIT_OK && i < count; i++)
        *code = merge_file(select, profile, files[i], false);
    if (*code == EXIT_OK && select->base)
        *code = merge_file(select, profile, select->base, true);
    /* A difference that was saved: what is taken away from one stack must meet what it is taken from. */
    if (*code == EXIT_OK && !select->base && count == 1 && has_negative(profile) && merge_samples(profile) != 0) {
        tool_error(files[0], "out of memory");
        *code = EXIT_SYSTEM;
    }
    if (*code == EXIT_OK && before)
        before(ctx, profile);
    if (*code == EXIT_OK)
        *code = drop_and_filter(select, profile, files[0]);
    if (*code == EXIT_OK)
        return profile;
    profile_free(profile);
    return NULL;
}

bool select_is_combined(const struct select *select, int count, const ProfProfile *profile) {
    return select->base || count > 1 || has_negative(profile);
}

int select_type(const struct select *select, const ProfProfile *profile, const char *file) {
    const char *name = select->type;
    if (!name && profile->n_sample_type > 0) {
        for (size_t i = 0; profile->default_sample_type != 0 && i < profile->n_sample_type; i++)
            if (profile->sample_type[i]->type == profile->default_sample_type)
                return (int)i;
        return (int)profile->n_sample_type - 1;
    }
    int found = name ? profile_sample_type(profile, name) : -1;
    if (found < 0 && name && strncmp(name, "inuse_", 6) == 0)
        found = profile_sample_type(profile, name + 6);
    if (found < 0 && name && name[0] != '\0' && name[strspn(name, "0123456789")] == '\0' && strlen(name) < 5 &&
        (size_t)atoi(name) < profile->n_sample_type)
        found = atoi(name);
    if (found < 0)
        tool_error(file, "has no sample type %s", name ? name : "at all");
    return found;
}

void select_release(struct select *select) {
    for (size_t i = 0; i < SELECT_FILTERS; i++)
        release_filter(select, i);
}
