/* SPDX-License-Identifier: Apache-2.0 */
/* Limits as `cprof check --max` takes them. What limit_check() prints itself is not TAP and is passed over by prove. */
#include "tests/unit/tap.h"

#include "tools/limit.h"
#include "tools/tool.h"

static ProtobufCBinaryData strings[8];
static ProfProfile profile;

static void parses(const char *text, const char *type, const char *function, uint64_t most) {
    struct limit limit;
    bool good = limit_parse(&limit, text) && limit.type_len == strlen(type) &&
                memcmp(limit.type, type, limit.type_len) == 0 && limit.function_len == strlen(function) &&
                memcmp(limit.function, function, limit.function_len) == 0 && limit.most == most;
    ok(good, "a limit: %s", text);
}

static void test_parsing(void) {
    static const char *const wrong[] = {"",
                                        "x",
                                        "alloc_space",
                                        "alloc_space:main",
                                        "alloc_space:main<5",
                                        ":main<=5",
                                        "alloc_space:<=5",
                                        "<=5",
                                        "alloc_space<=",
                                        "alloc_space<=5X",
                                        "alloc_space:main<=",
                                        "alloc_space:main<=5X",
                                        "alloc_space:main<=-5",
                                        "alloc_space:main<= 5",
                                        "alloc_space:main<=5KB",
                                        "alloc_space:main<=99999999999999999999",
                                        "alloc_space:main<=99999999999999999G"};
    struct limit limit;
    parses("alloc_space:main<=100", "alloc_space", "main", 100);
    parses("a:b<=0", "a", "b", 0);
    parses("alloc_space:std::vector<int>::push_back<=7M", "alloc_space", "std::vector<int>::push_back", 7 << 20);
    parses("alloc_space:operator<=(A, B)<=2K", "alloc_space", "operator<=(A, B)", 2048);
    parses("alloc_space:operator<=<=1G", "alloc_space", "operator<=", 1 << 30);
    parses("a:b<=2T", "a", "b", UINT64_C(2) << 40);
    parses("a:b<=3m", "a", "b", 3 << 20);
    parses("a:b<=18446744073709551615", "a", "b", UINT64_MAX);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        ok(!limit_parse(&limit, wrong[i]), "not a limit: '%s'", wrong[i]);
}

static int judge_with(const char *text, bool allow_missing) {
    struct limit limit;
    return limit_parse(&limit, text) ? limit_check(&limit, &profile, "FILE", allow_missing) : EXIT_USAGE;
}

static int judge(const char *text) {
    return judge_with(text, false);
}

/* Two samples: leaf(int) inlined into middle, called by main, twice on the stack: 100 bytes; and main alone: 10. */
static void test_judging(void) {
    static const char *const texts[] = {"",       "alloc_space", "bytes",    "leaf(int)",
                                        "middle", "main",        "_Z4leafi", "[truncated]"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        strings[i] = (ProtobufCBinaryData){.len = strlen(texts[i]), .data = (uint8_t *)(uintptr_t)texts[i]};
    ProfValueType type = PERFTOOLS__PROFILES__VALUE_TYPE__INIT;
    type.type = 1;
    type.unit = 2;
    ProfFunction functions[3];
    ProfLine lines[3];
    for (unsigned i = 0; i < 3; i++) {
        perftools__profiles__function__init(&functions[i]);
        perftools__profiles__line__init(&lines[i]);
        functions[i].id = lines[i].function_id = i + 1;
        functions[i].name = 3 + (int)i;
    }
    functions[0].system_name = 6;
    ProfLocation locations[2] = {PERFTOOLS__PROFILES__LOCATION__INIT, PERFTOOLS__PROFILES__LOCATION__INIT};
    locations[0].id = 1;
    locations[0].line = (ProfLine *[]){&lines[0], &lines[1]};
    locations[0].n_line = 2;
    locations[1].id = 2;
    locations[1].line = (ProfLine *[]){&lines[2]};
    locations[1].n_line = 1;
    ProfSample samples[2] = {PERFTOOLS__PROFILES__SAMPLE__INIT, PERFTOOLS__PROFILES__SAMPLE__INIT};
    samples[0].location_id = (uint64_t[]){1, 2, 2};
    samples[0].n_location_id = 3;
    samples[0].value = (int64_t[]){100};
    samples[1].location_id = (uint64_t[]){2};
    samples[1].n_location_id = 1;
    samples[1].value = (int64_t[]){10};
    samples[0].n_value = samples[1].n_value = 1;

    perftools__profiles__profile__init(&profile);
    profile.string_table = strings;
    profile.n_string_table = 8;
    profile.sample_type = (ProfValueType *[]){&type};
    profile.n_sample_type = 1;
    profile.function = (ProfFunction *[]){&functions[0], &functions[1], &functions[2]};
    profile.n_function = 3;
    profile.location = (ProfLocation *[]){&locations[0], &locations[1]};
    profile.n_location = 2;
    profile.sample = (ProfSample *[]){&samples[0], &samples[1]};
    profile.n_sample = 2;

    is(judge("alloc_space:main<=110"), EXIT_OK, "just at the limit; a function twice on a stack counts once");
    is(judge("alloc_space:main<=109"), EXIT_FAULT, "over it");
    is(judge("alloc_space:middle<=99"), EXIT_FAULT, "a function that another was inlined into");
    is(judge("alloc_space:leaf<=99"), EXIT_FAULT, "an inlined one, without its parameters");
    is(judge("alloc_space:leaf(int)<=99"), EXIT_FAULT, "with them");
    is(judge("alloc_space:_Z4leafi<=99"), EXIT_FAULT, "by the linker's name");
    is(judge("alloc_space:lea<=1G"), EXIT_INPUT, "half a name is none");
    is(judge("alloc_space:absent<=1G"), EXIT_INPUT, "a function that is not there");
    is(judge_with("alloc_space:absent<=0", true), EXIT_OK, "it may be missing, and is 0 then");
    is(judge_with("alloc_space:main<=109", true), EXIT_FAULT, "what is there is judged all the same");
    profile.n_sample = 0;
    is(judge("alloc_space:main<=0"), EXIT_OK, "a function that is known, and in no sample");
    profile.n_sample = 2;
    is(judge("inuse_space:main<=5"), EXIT_INPUT, "a sample type that is not there");
    functions[0].name = functions[1].name = functions[2].name = 7;
    is(judge_with("alloc_space:main<=110", true), EXIT_INPUT, "no names but the library's own");
    profile.n_function = profile.n_location = 0;
    is(judge("alloc_space:main<=110"), EXIT_INPUT, "no names at all");
    profile.n_sample = 0;
    is(judge("alloc_space:main<=0"), EXIT_INPUT, "no samples, and so no function");
    is(judge_with("alloc_space:main<=0", true), EXIT_OK, "no samples, no bytes");
}

int main(void) {
    test_parsing();
    test_judging();
    return tap_done();
}
