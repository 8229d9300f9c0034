/* SPDX-License-Identifier: Apache-2.0 */
/* cprof check: are these profiles valid, and do functions keep to what they may allocate? */
#include "tools/limit.h"
#include "tools/load.h"
#include "tools/sums.h"
#include "tools/tool.h"

#include "proto/check.h"
#include "proto/reader.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { OPTION_MAX = TOOL_LONG, OPTION_ALLOW_MISSING };

static const struct tool_option options[] = {
    {OPTION_MAX, "max", "TYPE[:FUNCTION]<=BYTES",
     "also fail if the samples whose stacks hold FUNCTION, or all samples, add up to more than BYTES (or count; suffix "
     "K, M, G, T) of the sample type TYPE: alloc_space, alloc_objects, inuse_space or inuse_objects. FUNCTION is a "
     "name "
     "as in the profile, or with its (parameters); without them all overloads and instances of a template are it, and "
     "the compiler's clones (NAME.constprop.0) always are. Of a profile with a rate above 1 it is the estimate that is "
     "judged, and its standard error is said (±)"},
    {OPTION_ALLOW_MISSING, "allow-missing", NULL,
     "take a FUNCTION that the profile doesn't have for one that allocates nothing, as one may be that is too small "
     "for a sample; it is an error if not given, since it may have been renamed or stripped"},
    {0},
};

struct check {
    struct limit *limits;
    size_t count;
    bool allow_missing;
};

static void print_fault(void *ctx, const char *where, const char *what) {
    tool_error(ctx, "%s: %s", where, what);
}

/* Sum of one sample type over all samples, held at the largest value. */
static int64_t total(const ProfProfile *profile, size_t type) {
    int64_t sum = 0;
    for (size_t i = 0; i < profile->n_sample; i++)
        sum = sum_of(sum, profile->sample[i]->value[type]);
    return sum;
}

static void print_totals(const ProfProfile *profile, const char *file) {
    printf("%s: ok (%zu samples", file, profile->n_sample);
    for (size_t i = 0; i < profile->n_sample_type; i++) {
        ProtobufCBinaryData name = profile_text(profile, profile->sample_type[i]->type);
        printf(", %.*s=%" PRId64, (int)name.len, (const char *)name.data, total(profile, i));
    }
    printf(")\n");
}

static int check_limits(const struct check *check, const ProfProfile *profile, const char *file) {
    int code = EXIT_OK;
    for (size_t i = 0; i < check->count; i++)
        code = exit_worse(code, limit_check(&check->limits[i], profile, file, check->allow_missing));
    return code;
}

static int check_file(const struct check *check, const char *file) {
    struct prof_error error;
    ProfProfile *profile = profile_read(file, 0, &error);
    if (!profile) {
        tool_error(file, "%s", error.text);
        return EXIT_INPUT;
    }
    /* References of a profile with faults can't be followed, so limits are for valid ones. */
    int code = EXIT_FAULT;
    unsigned faults = profile_check(profile, print_fault, (void *)(uintptr_t)file);
    const char *reason;
    if (faults == 0 && !load_settle(profile, &reason)) {
        tool_error(file, "%s", reason);
        code = EXIT_SYSTEM;
    } else if (faults == 0) {
        code = check_limits(check, profile, file);
        /* The one verdict on the file, so not before its limits are known to hold. */
        if (code == EXIT_OK)
            print_totals(profile, file);
    } else if (faults == CHECK_FAULTS_MAX) {
        tool_error(file, "stopped after %u faults", faults);
    }
    profile_free(profile);
    return code;
}

static int run(int argc, char **argv) {
    struct check check = {.limits = calloc((size_t)argc, sizeof *check.limits)};
    int code = EXIT_OK;
    int option;

    if (!check.limits) {
        tool_error("check", "out of memory");
        return EXIT_SYSTEM;
    }
    while ((option = tool_next_option(&command_check, argc, argv, &code)) > 0) {
        if (option == OPTION_ALLOW_MISSING) {
            check.allow_missing = true;
        } else if (!limit_parse(&check.limits[check.count++], optarg)) {
            code = tool_usage("check");
            break;
        }
    }
    if (option == 0 && optind == argc) {
        tool_error("check", "no file is given");
        code = tool_usage("check");
    }
    for (int i = optind; option == 0 && i < argc; i++)
        code = exit_worse(code, check_file(&check, argv[i]));
    free(check.limits);
    return code;
}

const struct tool_command command_check = {
    .name = "check",
    .summary = "say whether profiles are valid and within limits",
    .usage = "[OPTION]... FILE...",
    .operand = "FILE",
    .about =
        "Say whether each profile is valid: whether pprof and other tools can rely on it. FILE may be - for standard "
        "input.",
    .options = options,
    .exits = "0 all valid and within limits, 1 not so, 2 usage, 3 a file can't be read, or lacks what --max needs: "
             "names, the "
             "type, the function, or all of the records.",
    .examples =
        (const char *const[]){
            "cprof check --max 'alloc_space:build_message_batch_growing<=28M' cprof.server.4711.pb.gz", NULL},
    .run = run,
};
