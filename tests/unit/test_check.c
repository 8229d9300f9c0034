/* SPDX-License-Identifier: Apache-2.0 */
/* The checker: a good profile passes, and each rule that is broken is named, where it is broken. */
#include "tests/unit/tap.h"

#include "proto/check.h"

/* A profile with a few of everything, rebuilt for each test. */
enum { EMPTY, ALLOC_OBJECTS, ALLOC_SPACE, INUSE_OBJECTS, INUSE_SPACE, COUNT, BYTES, SPACE, PROG, FUNCTION, TEXTS };

static ProfProfile profile;
static ProtobufCBinaryData strings[TEXTS];
static ProfValueType types[4], period_type;
static ProfValueType *type_ptr[4];
static ProfMapping mappings[2];
static ProfMapping *mapping_ptr[2];
static ProfFunction functions[2];
static ProfFunction *function_ptr[2];
static ProfLocation locations[2];
static ProfLocation *location_ptr[2];
static ProfLine line;
static ProfLine *line_ptr[1];
static ProfLabel label;
static ProfLabel *label_ptr[1];
static ProfSample samples[2];
static ProfSample *sample_ptr[2];
static uint64_t stack[2];
static int64_t values[2][4];
static int64_t comments[1];

static void set_text(int index, const char *text) {
    strings[index] = (ProtobufCBinaryData){.len = strlen(text), .data = (uint8_t *)(uintptr_t)text};
}

static void build_tables(void) {
    static const char *const texts[TEXTS] = {"",      "alloc_objects", "alloc_space", "inuse_objects", "inuse_space",
                                             "count", "bytes",         "space",       "/bin/prog",     "main"};
    for (int i = 0; i < TEXTS; i++)
        set_text(i, texts[i]);
    for (int i = 0; i < 4; i++) {
        perftools__profiles__value_type__init(&types[i]);
        types[i].type = ALLOC_OBJECTS + i;
        types[i].unit = i % 2 == 0 ? COUNT : BYTES;
        type_ptr[i] = &types[i];
    }
    for (unsigned i = 0; i < 2; i++) {
        perftools__profiles__mapping__init(&mappings[i]);
        mappings[i].id = i + 1;
        mappings[i].memory_start = 0x1000 * (i + 1);
        mappings[i].memory_limit = 0x1000 * (i + 2);
        mappings[i].filename = PROG;
        mapping_ptr[i] = &mappings[i];
        perftools__profiles__function__init(&functions[i]);
        functions[i].id = i + 1;
        functions[i].name = FUNCTION;
        function_ptr[i] = &functions[i];
        perftools__profiles__location__init(&locations[i]);
        locations[i].id = i + 1;
        locations[i].mapping_id = i + 1;
        locations[i].address = 0x1000 * (i + 1);
        location_ptr[i] = &locations[i];
    }
    perftools__profiles__line__init(&line);
    line.function_id = 2;
    line_ptr[0] = &line;
    locations[0].line = line_ptr;
    locations[0].n_line = 1;
}

static void build_samples(void) {
    perftools__profiles__label__init(&label);
    label.key = BYTES;
    label.num = 10;
    label.num_unit = BYTES;
    label_ptr[0] = &label;
    for (unsigned i = 0; i < 2; i++) {
        memcpy(values[i], (int64_t[]){2, 20, 1, 10}, sizeof values[i]);
        stack[i] = i + 1;
        perftools__profiles__sample__init(&samples[i]);
        samples[i].location_id = stack;
        samples[i].n_location_id = 2;
        samples[i].value = values[i];
        samples[i].n_value = 4;
        sample_ptr[i] = &samples[i];
    }
    samples[1].label = label_ptr;
    samples[1].n_label = 1;
}

static void build(void) {
    build_tables();
    build_samples();
    perftools__profiles__profile__init(&profile);
    perftools__profiles__value_type__init(&period_type);
    period_type.type = SPACE;
    period_type.unit = BYTES;
    profile.string_table = strings;
    profile.n_string_table = TEXTS;
    profile.sample_type = type_ptr;
    profile.n_sample_type = 4;
    profile.mapping = mapping_ptr;
    profile.function = function_ptr;
    profile.location = location_ptr;
    profile.sample = sample_ptr;
    profile.n_mapping = profile.n_function = profile.n_location = profile.n_sample = 2;
    profile.period_type = &period_type;
    profile.period = 1;
    profile.default_sample_type = INUSE_SPACE;
    comments[0] = PROG;
    profile.comment = comments;
    profile.n_comment = 1;
}

static char reported[512];
static void report(void *ctx, const char *where, const char *what) {
    (void)ctx;
    snprintf(reported, sizeof reported, "%s: %s", where, what);
}

/* One fault, reported as said; the profile is good again afterwards. */
static void finds(const char *text) {
    reported[0] = '\0';
    unsigned faults = profile_check(&profile, report, NULL);
    if (!ok(faults == 1 && strcmp(reported, text) == 0, "%s", text))
        printf("# %u faults, the last: %s\n", faults, reported);
    build();
}

static void passes(const char *what) {
    reported[0] = '\0';
    if (!ok(profile_check(&profile, report, NULL) == 0, "valid: %s", what))
        printf("# %s\n", reported);
    build();
}

static void test_scalars(void) {
    set_text(EMPTY, "x");
    finds("string 0: not empty");
    set_text(FUNCTION, "ab\xff");
    finds("string 9: not UTF-8: byte 0xff at offset 2");
    set_text(FUNCTION, "\xc0\x80");
    finds("string 9: not UTF-8: byte 0xc0 at offset 0");
    set_text(FUNCTION, "\xed\xa0\x80");
    finds("string 9: not UTF-8: byte 0xed at offset 0");
    set_text(FUNCTION, "\xf4\x90\x80\x80");
    finds("string 9: not UTF-8: byte 0xf4 at offset 0");
    set_text(FUNCTION, "\xf0\x9f\x98");
    finds("string 9: not UTF-8: byte 0xf0 at offset 0");
    set_text(FUNCTION, "\xf0\x9f\x98\x80 \xe2\x82\xac \xc3\xa9 \xef\xbf\xbf");
    passes("any UTF-8");
    types[0].type = EMPTY;
    finds("sample type 1: no type");
    types[1].unit = TEXTS;
    finds("sample type 2: unit is 10, but there are 10 strings");
    types[3].type = ALLOC_OBJECTS;
    profile.default_sample_type = 0;
    finds("sample type 4: the same as sample type 1");
    profile.default_sample_type = SPACE;
    finds("profile: the default sample type is none of the sample types");
    profile.period = 0;
    finds("profile: period_type without a period");
    profile.period_type = NULL;
    finds("profile: a period without period_type");
    profile.period_type = NULL;
    profile.period = 0;
    passes("neither");
    profile.time_nanos = -1;
    finds("profile: time_nanos is negative");
    profile.duration_nanos = -1;
    finds("profile: duration_nanos is negative");
    profile.drop_frames = -1;
    finds("profile: drop_frames is -1, but there are 10 strings");
    comments[0] = TEXTS;
    finds("comment 1: its text is 10, but there are 10 strings");
}

static void test_tables(void) {
    mappings[1].id = locations[1].mapping_id = 3;
    passes("any id of a mapping");
    mappings[1].id = 3;
    finds("location 2: there is no mapping 2");
    mappings[1].id = 1;
    locations[1].mapping_id = 0;
    finds("mapping 2: its id 1 is that of mapping 1, too");
    functions[0].id = 2;
    functions[1].id = 1;
    passes("ids in any order");
    functions[1].id = line.function_id = UINT64_MAX;
    passes("the largest id");
    mappings[0].filename = EMPTY;
    finds("mapping 1: the first mapping is the main binary, and has no file name");
    set_text(PROG, "[vdso]");
    finds("mapping 1: the first mapping is not the main binary but [vdso]");
    mappings[1].filename = EMPTY;
    passes("a later mapping without a name");
    mappings[0].memory_start = 0x3000;
    locations[0].mapping_id = 0;
    finds("mapping 1: it starts at 0x3000, beyond its limit 0x2000");
    functions[0].id = 0;
    finds("function 1: its id is 0");
    functions[1].name = EMPTY;
    finds("function 2: no name");
    stack[0] = 2;
    samples[1].n_location_id = samples[0].n_location_id = 1;
    locations[0].id = 2;
    finds("location 2: its id 2 is that of location 1, too");
    locations[0].id = stack[0] = 7;
    passes("any id of a location");
    locations[1].mapping_id = 3;
    finds("location 2: there is no mapping 3");
    locations[1].address = 0x3000;
    finds("location 2: address 0x3000 is not in its mapping 2");
    locations[1].mapping_id = 0;
    locations[1].address = 0x3000;
    passes("a location in no mapping");
    line.function_id = 0;
    finds("location 1: line 1: there is no function 0");
    line.function_id = 3;
    finds("location 1: line 1: there is no function 3");
    profile.n_mapping = 0;
    locations[0].mapping_id = locations[1].mapping_id = 0;
    passes("no mappings at all");
}

static void test_samples(void) {
    samples[0].n_location_id = 0;
    passes("a sample without locations, as Go's of threads are");
    samples[1].location_id = (uint64_t[]){2, 3};
    finds("sample 2: there is no location 3");
    samples[1].location_id = (uint64_t[]){0, 2};
    finds("sample 2: there is no location 0");
    samples[1].n_value = 3;
    finds("sample 2: 3 values for 4 sample types");
    values[0][2] = -1;
    finds("sample 1: value 3 is negative");
    values[1][2] = 3;
    finds("sample 2: objects in use are more than were allocated: 3 > 2");
    values[1][3] = 21;
    finds("sample 2: bytes in use are more than were allocated: 21 > 20");
    label.key = EMPTY;
    finds("sample 2: no label key");
    label.str = PROG;
    finds("sample 2: label 1 is both a text and a number");
    label.num_unit = 99;
    finds("sample 2: label unit is 99, but there are 10 strings");
    profile.n_sample = 0;
    passes("no samples");

    uint64_t none[1000] = {0};
    samples[0].location_id = none;
    samples[0].n_location_id = 1000;
    is(profile_check(&profile, report, NULL), CHECK_FAULTS_MAX, "it stops after so many faults");
    build();
    perftools__profiles__profile__init(&profile);
    is(profile_check(&profile, report, NULL), 2, "an empty profile lacks string 0 and sample types");
}

int main(void) {
    build();
    passes("the profile that the tests start from");
    test_scalars();
    test_tables();
    test_samples();
    return tap_done();
}
