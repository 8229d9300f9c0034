/* SPDX-License-Identifier: Apache-2.0 */
/* What any bytes do to the reader, the checker and what the tools make of a profile: nothing may crash, and what the
 * parts say of each other must hold.
 *
 * Built twice: for libFuzzer (`make fuzz`), and with replay.c, which runs the corpus. */
#include "proto/reader.h"
#include "proto/check.h"
#include "tools/flame.h"
#include "tools/load.h"

#include <stdlib.h>

/* Enough for every kind of entry; larger profiles are slower and tell no more. */
#define MOST_BYTES (1u << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds, const char *what) {
    if (holds)
        return;
    fprintf(stderr, "does not hold: %s\n", what);
    abort();
}

static void note_fault(void *ctx, const char *where, const char *what) {
    unsigned *count = ctx;
    must(where[0] != '\0' && what[0] != '\0', "a fault has a place and a reason");
    ++*count;
}

/* Sums of such values are exact, in whatever order. */
static bool has_small_values(const ProfProfile *profile) {
    for (size_t i = 0; i < profile->n_sample; i++)
        for (size_t t = 0; t < profile->sample[i]->n_value; t++)
            if (llabs(profile->sample[i]->value[t] / 2) > INT64_C(1) << 40)
                return false;
    return true;
}

/* The tree of a profile that can be relied on, and the tree made small, have the profile's sums. */
static void try_flame(const ProfProfile *profile, bool by_name, FILE *nowhere) {
    struct flame flame;
    must(flame_init(&flame, profile, by_name) == 0, "there is memory for a tree");
    for (int fold = 0; fold < 2; fold++) {
        must(flame_fold(&flame, fold ? 4 : SIZE_MAX) >= 0, "there is memory to fold");
        must(!fold || flame.nodes_count <= 8, "a folded tree is small");
        int64_t *totals = flame_totals(&flame, true);
        must(totals != NULL, "there is memory for sums");
        for (size_t i = 1; i < flame.nodes_count; i++)
            must(flame.nodes[i].parent < i, "a parent comes first");
        for (size_t t = 0; t < flame.types; t++)
            must(!has_small_values(profile) || totals[t] == flame.sums[t], "a tree's sums are the profile's");
        free(totals);
    }
    struct flame_about about = {.profile = profile, .file = "fuzz"};
    if (flame.types > 0) {
        must(flame_print_page(nowhere, &flame, &about) == 0, "there is memory for a page");
        must(flame_print_svg(nowhere, &flame, &about) == 0, "there is memory for a picture");
        must(flame_print_folded(nowhere, &flame, 0) == 0, "there is memory for lines");
    }
    flame_release(&flame);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static FILE *nowhere;
    struct prof_error error;
    const char *reason = "";
    unsigned noted = 0;
    if (!nowhere)
        nowhere = fopen("/dev/null", "w");
    must(nowhere != NULL, "there is /dev/null");
    ProfProfile *profile = profile_read_bytes(data, size, MOST_BYTES, &error);
    if (!profile) {
        must(error.text[0] != '\0', "a profile that can't be read has a reason");
        return 0;
    }
    unsigned faults = profile_check(profile, note_fault, &noted);
    must(faults == noted && faults <= CHECK_FAULTS_MAX, "each fault is told once");
    bool settled = load_settle(profile, &reason);
    must(settled || (faults > 0 && reason[0] != '\0'), "a valid profile can be used");
    for (int by_name = 0; settled && by_name < 2; by_name++)
        try_flame(profile, by_name, nowhere);
    profile_free(profile);
    return 0;
}
