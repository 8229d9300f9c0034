/* SPDX-License-Identifier: Apache-2.0 */
#include "preload/intercept/config.h"

#include <signal.h>
#include <stddef.h>

#include "preload/intercept/accepts.h"
#include "preload/intercept/only.h"
#include "preload/intercept/re2.h"
#include "preload/record/log.h"
#include "preload/record/name.h"
#include "preload/record/sampler.h"
#include "preload/record/text.h"
#include "preload/record/walk.h"

struct config config = {
    .rate = 524288,
    .depth = 128,
    .start = 1,
    .follow_fork = 1,
    .symbolize = 1,
    .max_memory = UINT64_MAX,
    .out = NAME_USUAL,
};

/* Each kind of value: reads `text` into *value and says whether it could. */
typedef int reader(const char *text, uint64_t *value);

/* A number with a suffix K, M, G, T (powers of 1024), or a unit by `units`; no fractions. */
static int scaled(const char *text, const char *const *unit, const uint64_t *factor, uint64_t *value) {
    uint64_t n;
    if (!text_number(&text, &n))
        return 0;
    for (; *unit; unit++, factor++)
        if (text_equal(text, *unit))
            return !__builtin_mul_overflow(n, *factor, value);
    return 0;
}

static int bytes(const char *text, uint64_t *value) {
    static const char *const unit[] = {"", "K", "k", "M", "m", "G", "g", "T", "t", NULL};
    static const uint64_t factor[] = {1, 1024, 1024, 1 << 20, 1 << 20, 1 << 30, 1 << 30, 1ull << 40, 1ull << 40};
    return scaled(text, unit, factor, value);
}
static int rate(const char *text, uint64_t *value) {
    return bytes(text, value) && *value <= SAMPLER_MAX_RATE;
}
static int some_bytes(const char *text, uint64_t *value) {
    return bytes(text, value) && *value >= 1 << 20;
}
static int duration(const char *text, uint64_t *value) {
    static const char *const unit[] = {"", "s", "ms", "m", "h", NULL};
    static const uint64_t factor[] = {1000000000, 1000000000, 1000000, 60000000000, 3600000000000};
    return scaled(text, unit, factor, value);
}
static int number(const char *text, uint64_t *value) {
    return text_number(&text, value) && !*text;
}
static int depth(const char *text, uint64_t *value) {
    return number(text, value) && *value >= 1 && *value <= 1024;
}
static int on_off(const char *text, uint64_t *value) {
    *value = text_equal(text, "on") || text_equal(text, "1");
    return *value || text_equal(text, "off") || text_equal(text, "0");
}
static int fork_policy(const char *text, uint64_t *value) {
    *value = text_equal(text, "follow");
    return *value || text_equal(text, "off");
}
static int unwinder(const char *text, uint64_t *value) {
    *value = text_equal(text, "fp") ? WALK_FP : WALK_DWARF;
    return *value == WALK_FP || text_equal(text, "dwarf");
}
static int level(const char *text, uint64_t *value) {
    static const char *const names[] = {"error", "warn", "info"};
    for (*value = 0; *value < 3; ++*value)
        if (text_equal(text, names[*value]))
            return 1;
    return 0;
}
static int signal_number(const char *text, uint64_t *value) {
    static const struct {
        const char *name;
        int number;
    } names[] = {{"HUP", SIGHUP},     {"INT", SIGINT},     {"QUIT", SIGQUIT},   {"USR1", SIGUSR1}, {"USR2", SIGUSR2},
                 {"PIPE", SIGPIPE},   {"ALRM", SIGALRM},   {"TERM", SIGTERM},   {"CHLD", SIGCHLD}, {"CONT", SIGCONT},
                 {"URG", SIGURG},     {"XCPU", SIGXCPU},   {"VTALRM", SIGVTALRM}, {"PROF", SIGPROF}, {"WINCH", SIGWINCH},
                 {"IO", SIGIO},       {"PWR", SIGPWR}};
    uint64_t n;
    if (number(text, value))
        return *value >= 1 && *value <= 64 && *value != SIGKILL && *value != SIGSTOP;
    if (text_starts(text, "SIG"))
        text += 3;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (text_equal(text, names[i].name)) {
            *value = (uint64_t)names[i].number;
            return 1;
        }
    if (!text_starts(text, "RTMIN"))
        return 0;
    text += 5;
    n = 0;
    if (*text == '+' && (text++, !number(text, &n)))
        return 0;
    *value = 34 + n; /* SIGRTMIN, of which libc keeps two for itself; a call in libc */
    return *text == 0 || *value <= 64;
}

/* ---- Texts that may not be what was meant: 1 if they are taken as they are all the same ---- */

static void remark(const char *name, const char *part, size_t len, const char *what) {
    char buf[512];
    struct text line;
    log_begin(&line, buf, sizeof buf);
    text_add(&line, name);
    text_add(&line, ": '");
    text_add_bytes(&line, part, len < 100 ? len : 100);
    text_add(&line, "' ");
    text_add(&line, what);
    log_end(&line, LOG_ERROR);
}

static int judge_out(const char *name, const char *value) {
    const char *unknown = name_unknown(value);
    /* Not half a character, should it be one of several bytes. */
    if (unknown)
        remark(name, unknown, unknown[1] > ' ' && unknown[1] < 127 ? 2 : 1,
               "stands for nothing and is kept as it is; known are %e, %p, %n, %h, %t and %%");
    return 1;
}

/* A [ that no ] closes is what it is, a character. */
static int has_open_bracket(const char *pattern) {
    for (; *pattern; pattern++) {
        if (*pattern == '\\' && pattern[1]) {
            pattern++;
        } else if (*pattern == '[') {
            pattern++;
            if (*pattern == '!' || *pattern == '^')
                pattern++;
            if (*pattern == ']')
                pattern++;
            while (*pattern && *pattern != ']')
                pattern++;
            if (!*pattern)
                return 1;
        }
    }
    return 0;
}

static int judge_only(const char *name, const char *value) {
    char pattern[ONLY_PATTERN_MAX];
    while ((value = only_next(value, pattern))) {
        const char *what = text_basename(pattern) != pattern ? "matches nothing: patterns are for names without directories"
                           : has_open_bracket(pattern)       ? "has a [ that no ] closes, so that it stands for itself"
                                                             : NULL;
        if (what) {
            remark(name, pattern, text_length(pattern), what);
            break;
        }
    }
    return 1;
}

/* With a part that is no expression, readers would make nothing of the library's own either. */
static int judge_drop_frames(const char *name, const char *value) {
    const char *fault = re2_fault(value);
    char buf[160];
    struct text what;
    if (!fault)
        return 1;
    text_init(&what, buf, sizeof buf);
    text_add(&what, "is left out, being no regular expression of RE2's: ");
    text_add(&what, fault);
    remark(name, value, text_length(value), what.at);
    return 0;
}

static const struct setting {
    const char *name;
    reader *read; /* NULL: text, as it is */
    size_t offset;
    const char *accepts;
    int (*judge)(const char *name, const char *value); /* of text */
} settings[] = {
#define SETTING(name, read, field, judge, accepts) {"CPROF_" name, read, offsetof(struct config, field), accepts, judge}
    SETTING("RATE", rate, rate, NULL, ACCEPTS_RATE),
    SETTING("OUT", NULL, out, judge_out, ACCEPTS_OUT),
    SETTING("DEPTH", depth, depth, NULL, ACCEPTS_DEPTH),
    SETTING("UNWIND", unwinder, unwind, NULL, "dwarf or fp"),
    SETTING("SIGNAL", signal_number, signal, NULL, "the name or number of a signal that can be caught"),
    SETTING("INTERVAL", duration, interval, NULL, ACCEPTS_INTERVAL),
    SETTING("INTERVAL_BYTES", some_bytes, interval_bytes, NULL, "an amount of 1M or more, such as 1G"),
    SETTING("PEAK", on_off, peak, NULL, "1 or 0"),
    SETTING("START", on_off, start, NULL, "on or off"),
    SETTING("FORK", fork_policy, follow_fork, NULL, "follow or off"),
    SETTING("ONLY", NULL, only, judge_only, ACCEPTS_ONLY),
    SETTING("SYMBOLIZE", on_off, symbolize, NULL, "on or off"),
    SETTING("DROP_FRAMES", NULL, drop_frames, judge_drop_frames, "a regular expression of 1 to 4095 bytes"),
    SETTING("MAX_MEMORY", some_bytes, max_memory, NULL, "an amount of 1M or more, such as 256M"),
    SETTING("SEED", number, seed, NULL, "a number"),
    SETTING("LOG", level, log, NULL, "error, warn or info"),
#undef SETTING
};

/* Not ours to judge: read by the command, or by those who test with the library. */
static const char *const others[] = {"CPROF_LIB", "CPROF_OUT_VAR", "CPROF_RATE_VAR", "CPROF_SIGNAL_VAR",
                                     "CPROF_QUIET_ON_ERROR"};

static void complain(const char *name, size_t name_len, const char *value, const char *accepts) {
    char buf[768];
    struct text line;
    log_begin(&line, buf, sizeof buf);
    text_add_bytes(&line, name, name_len);
    if (accepts) {
        text_add(&line, "='");
        text_add_bytes(&line, value, text_length(value) < 100 ? text_length(value) : 100);
        text_add(&line, "' can't be read: give ");
        text_add(&line, accepts);
        text_add(&line, "; the default is used");
    } else {
        text_add(&line, " is no setting and does nothing; settings are");
        for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
            text_add(&line, i ? ", " : " ");
            text_add(&line, settings[i].name);
        }
    }
    log_end(&line, LOG_ERROR);
}

static int same(const char *name, size_t len, const char *wanted) {
    return text_length(wanted) == len && text_starts(name, wanted);
}

static void read_one(const char *name, size_t len, const char *value) {
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
        const struct setting *s = &settings[i];
        char *field = (char *)&config + s->offset;
        if (!same(name, len, s->name))
            continue;
        uint64_t n = 0;
        if (s->read ? !s->read(value, &n) : !value[0] || text_length(value) >= CONFIG_TEXT) {
            complain(name, len, value, s->accepts);
        } else if (s->read) {
            *(uint64_t *)field = n;
        } else if (!s->judge || s->judge(s->name, value)) {
            struct text t;
            text_init(&t, field, CONFIG_TEXT);
            text_add(&t, value);
        }
        return;
    }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (same(name, len, others[i]))
            return;
    complain(name, len, value, NULL);
}

void config_read(char *const *env) {
    for (; env && *env; env++) {
        size_t len = 0;
        if (!text_starts(*env, "CPROF_"))
            continue;
        while ((*env)[len] && (*env)[len] != '=')
            len++;
        if ((*env)[len])
            read_one(*env, len, *env + len + 1);
    }
}
