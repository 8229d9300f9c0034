/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/limit.h"

#include "tools/function_name.h"
#include "tools/profile_comment.h"
#include "tools/sample_error.h"
#include "tools/tool.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool limit_parse(struct limit *limit, const char *text) {
    const char *colon = strchr(text, ':');
    const char *relation = colon ? NULL : strstr(text, "<=");
    /* The function may be an operator<= itself. */
    for (const char *at = colon; at && (at = strstr(at, "<=")); at++)
        relation = at;
    const char *type_end = colon ? colon : relation;
    if (!relation || type_end == text || relation == colon + 1) {
        tool_error(text, "not a limit; TYPE:FUNCTION<=BYTES and TYPE<=BYTES are");
        return false;
    }
    limit->text = text;
    limit->type = text;
    limit->type_len = (size_t)(type_end - text);
    limit->function = colon ? colon + 1 : NULL;
    limit->function_len = colon ? (size_t)(relation - limit->function) : 0;
    if (!tool_parse_bytes(relation + 2, &limit->most)) {
        tool_error(text, "'%s' is not a number; digits and K, M, G or T are", relation + 2);
        return false;
    }
    return true;
}

static int find_type(const struct limit *limit, const ProfProfile *profile) {
    for (size_t i = 0; i < profile->n_sample_type; i++) {
        ProtobufCBinaryData name = profile_text(profile, profile->sample_type[i]->type);
        if (name.len == limit->type_len && memcmp(name.data, limit->type, name.len) == 0)
            return (int)i;
    }
    return -1;
}

/* Names in brackets are cprof's own, for what has no function. */
static bool has_symbols(const ProfProfile *profile) {
    for (size_t i = 0; i < profile->n_function; i++) {
        ProtobufCBinaryData name = profile_text(profile, profile->function[i]->name);
        if (name.len > 0 && name.data[0] != '[')
            return true;
    }
    return false;
}

/* Marks the locations that hold one of the functions, inlined or not; by id - 1. NULL without memory. */
static bool *find_locations(const struct function_set *functions, const ProfProfile *profile) {
    bool *found = calloc(profile->n_location + 1, sizeof *found);
    for (size_t i = 0; found && i < profile->n_location; i++) {
        const ProfLocation *location = profile->location[i];
        /* Inlined functions have their lines here: what they allocate counts as theirs. */
        for (size_t k = 0; k < location->n_line && !found[i]; k++)
            found[i] = functions->has[location->line[k]->function_id - 1];
    }
    return found;
}

/* ---- Adding up ---- */

struct sum {
    uint64_t value;
    double error; /* one standard error; 0: it is exact, or not known */
    bool estimated;
    bool at_least; /* records are missing */
    bool unsure;   /* of these some may be frees, so it may be less as well */
};

/* Where the space and the objects of one kind are; -1: not there. */
struct columns {
    int space, objects;
    bool is_space;
};

static struct columns find_columns(const ProfProfile *profile, int type) {
    static const char *const kinds[][2] = {{"alloc_space", "alloc_objects"}, {"inuse_space", "inuse_objects"}};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        struct columns c = {profile_sample_type(profile, kinds[i][0]), profile_sample_type(profile, kinds[i][1]),
                            false};
        c.is_space = c.space == type;
        if ((c.space == type || c.objects == type) && c.space >= 0 && c.objects >= 0)
            return c;
    }
    return (struct columns){-1, -1, false};
}

/* `found`: by location id - 1; NULL: all samples. */
static struct sum sum_samples(const ProfProfile *profile, const bool *found, int type) {
    struct sum sum = {.estimated = profile->period > 1};
    struct columns columns = find_columns(profile, type);
    struct estimate_total total = {0};
    for (size_t i = 0; i < profile->n_sample; i++) {
        const ProfSample *sample = profile->sample[i];
        bool holds = !found;
        for (size_t k = 0; k < sample->n_location_id && !holds; k++)
            holds = found[sample->location_id[k] - 1];
        if (!holds)
            continue;
        sum.value = add_saturated(sum.value, (uint64_t)sample->value[type]);
        if (sum.estimated && columns.space >= 0)
            sample_error_add(&total, (uint64_t)sample->value[columns.space], (uint64_t)sample->value[columns.objects],
                             (uint64_t)profile->period);
    }
    sum.error = sqrt(columns.is_space ? total.space_var : total.objects_var);
    return sum;
}

/* What the comment says of missing records, as far as it goes for this sum. All that was allocated over the memory
 * limit is in the profile, without a stack. */
static void look_for_gaps(const struct limit *limit, const ProfProfile *profile, struct sum *sum) {
    struct profile_comment comment;
    profile_comment_read(profile, &comment);
    bool in_use = limit->type_len > 6 && memcmp(limit->type, "inuse_", 6) == 0;
    sum->at_least = comment.incomplete && (in_use || limit->function || comment.unsure);
    sum->unsure = comment.unsure && in_use;
}

/* ---- The verdict ---- */

#define NAMES_SHOWN 3u

/* What the sum is of: nothing, or "main: ". */
static void print_subject(FILE *out, const struct limit *limit) {
    if (limit->function)
        fprintf(out, "%.*s: ", (int)limit->function_len, limit->function);
    fprintf(out, "%.*s is ", (int)limit->type_len, limit->type);
}

static void print_sum(FILE *out, const struct limit *limit, const struct sum *sum,
                      const struct function_set *functions) {
    print_subject(out, limit);
    fprintf(out, "%s%" PRIu64, sum->at_least && !sum->unsure ? "at least " : "", sum->value);
    if (sum->estimated && sum->error > 0)
        fprintf(out, " (estimated, ±%.0f)", ceil(sum->error));
    else if (sum->estimated)
        fputs(" (estimated)", out);
    if (functions->n_names < 2)
        return;
    fprintf(out, " of %zu functions together (", functions->n_names);
    for (size_t i = 0; i < functions->n_names && i < NAMES_SHOWN; i++)
        fprintf(out, "%s%s", i > 0 ? ", " : "", functions->names[i]);
    fputs(functions->n_names > NAMES_SHOWN ? ", ...)" : ")", out);
}

static int print_verdict(const struct limit *limit, const char *file, const struct sum *sum,
                         const struct function_set *functions) {
    char *text = NULL;
    size_t len;
    FILE *out = open_memstream(&text, &len);
    if (!out) {
        tool_error(file, "out of memory");
        return EXIT_SYSTEM;
    }
    bool over = sum->value > limit->most;
    int code = sum->unsure || (sum->at_least && !over) ? EXIT_INPUT : over ? EXIT_FAULT : EXIT_OK;
    print_sum(out, limit, sum, functions);
    if (code == EXIT_INPUT)
        fprintf(out, ", and records are missing, so '%s' can't be judged; its comment says which", limit->text);
    else
        fprintf(out, ", %s the limit of %" PRIu64, over ? "over" : "within", limit->most);
    double off = fabs((double)sum->value - (double)limit->most);
    if (code != EXIT_INPUT && sum->error > 0 && off <= 2 * sum->error)
        fputs(", but that is within two standard errors; a profile with rate 1 is exact", out);
    if (fclose(out) != 0)
        code = EXIT_SYSTEM;
    if (code == EXIT_SYSTEM)
        tool_error(file, "out of memory");
    else if (code == EXIT_OK)
        printf("%s: %s\n", file, text);
    else
        tool_error(file, "%s", text);
    free(text);
    return code;
}

static void print_missing(const struct limit *limit, const ProfProfile *profile, const char *file) {
    ProtobufCBinaryData near[FUNCTION_NEAR_MAX];
    char names[1024] = "";
    size_t count = function_near(profile, limit->function, limit->function_len, near), len = 0;
    for (size_t i = 0; i < count; i++)
        len += (size_t)snprintf(names + len, sizeof names - len, "%s'%.*s'",
                                i == 0          ? ", but "
                                : i + 1 < count ? ", "
                                                : " and ",
                                (int)(near[i].len < 250 ? near[i].len : 250), (const char *)near[i].data);
    tool_error(file, "has no function '%.*s'%s, so '%s' can't be judged; --allow-missing takes it for 0",
               (int)limit->function_len, limit->function, names, limit->text);
}

static int check_sum(const struct limit *limit, const ProfProfile *profile, const char *file, int type,
                     const struct function_set *functions) {
    bool *found = limit->function ? find_locations(functions, profile) : NULL;
    if (limit->function && !found) {
        tool_error(file, "out of memory");
        return EXIT_SYSTEM;
    }
    struct sum sum = sum_samples(profile, found, type);
    free(found);
    look_for_gaps(limit, profile, &sum);
    return print_verdict(limit, file, &sum, functions);
}

int limit_check(const struct limit *limit, const ProfProfile *profile, const char *file, bool allow_missing) {
    struct function_set functions = {0};
    int type = find_type(limit, profile), code;
    if (type < 0) {
        tool_error(file, "no sample type '%.*s'", (int)limit->type_len, limit->type);
        return EXIT_INPUT;
    }
    if (!limit->function)
        return check_sum(limit, profile, file, type, &functions);
    if (profile->n_sample > 0 && !has_symbols(profile)) {
        tool_error(file, "has no function names, so '%s' can't be judged; run 'cprof symbolize' first", limit->text);
        return EXIT_INPUT;
    }
    if (function_set_find(&functions, profile, limit->function, limit->function_len) != 0) {
        tool_error(file, "out of memory");
        code = EXIT_SYSTEM;
    } else if (functions.count == 0 && !allow_missing) {
        print_missing(limit, profile, file);
        code = EXIT_INPUT;
    } else {
        code = check_sum(limit, profile, file, type, &functions);
    }
    function_set_release(&functions);
    return code;
}
