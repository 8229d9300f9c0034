/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/live_top.h"

#include "tools/live_screen.h"
#include "tools/segment_life.h"
#include "tools/segment_profile.h"
#include "tools/segment_totals.h"
#include "tools/tool.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct view {
    const struct live_top_options *options;
    pid_t pid;
    struct segment_file file;
    struct live *live;
    struct segment_totals totals, last;
    uint64_t looked_ns, last_ns; /* 0: never */
    enum live_type type;
    bool by_cum;
    size_t top; /* first row that is shown */
};

bool live_top_is_process(const char *text, pid_t *pid) {
    char *end;
    errno = 0;
    long value = strtol(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || value <= 0 || value > INT_MAX || text[0] < '0' || text[0] > '9' ||
        access(text, F_OK) == 0)
        return false;
    *pid = (pid_t)value;
    return true;
}

bool live_top_option(struct live_top_options *options, int option) {
    char *end;
    if (option == LIVE_ONCE)
        return options->once = true;
    if (option == LIVE_SORT) {
        if (live_parse_type(optarg, &options->type))
            return true;
        tool_error(optarg, "not a sample type");
        return false;
    }
    options->interval = strtod(optarg, &end);
    if (end != optarg && *end == '\0' && options->interval >= 0.05 && options->interval <= 86400)
        return true;
    tool_error(optarg, "not a number of seconds from 0.05 to 86400");
    return false;
}

/* ---- Looking ---- */

static int look(struct view *view) {
    const char *reason;
    view->last = view->totals;
    view->last_ns = view->looked_ns;
    int rc = segment_refresh(&view->file, &reason);
    if (rc == 0 && !view->file.unfinished)
        rc = segment_sum(&view->file, &view->totals);
    if (rc == 0 && !view->file.unfinished)
        rc = live_read(view->live, &view->file);
    view->looked_ns = segment_now();
    if (rc != 0)
        screen_close(); /* or the message would go with it */
    if (rc != 0)
        tool_error(view->file.path, "%s", rc == -ENOMEM ? "out of memory" : rc == -EFAULT ? "cut off" : reason);
    return rc == 0 ? EXIT_OK : rc == -ENOMEM ? EXIT_SYSTEM : EXIT_INPUT;
}

static int open_process(struct view *view) {
    const char *reason;
    int rc = segment_open_process(&view->file, view->pid, &reason);
    if (rc != 0) {
        char number[16];
        snprintf(number, sizeof number, "%d", (int)view->pid);
        screen_close();
        tool_error(number, "%s", reason);
        return rc == -ENOENT || rc == -ESRCH || rc == -EPERM ? EXIT_PROCESS : EXIT_INPUT;
    }
    view->live = live_new(view->options->names);
    view->looked_ns = 0;
    view->totals = (struct segment_totals){0};
    return view->live ? EXIT_OK : EXIT_SYSTEM;
}

static void close_process(struct view *view) {
    live_free(view->live);
    view->live = NULL;
    segment_close(&view->file);
}

/* ---- One table ---- */

static void print_once(struct view *view) {
    const struct live_row *const *rows;
    size_t count = live_rows(view->live, view->type, view->by_cum, &rows);
    double total = live_total(view->live, view->type), sum = 0;
    char name[64];
    printf("# process %d (%s), rate %" PRIu64 "\n", (int)view->pid, segment_name(&view->file, name),
           view->file.view.header.rate);
    printf("# exact alloc_space=%" PRIu64 " alloc_objects=%" PRIu64 "; in use inuse_space=%" PRIu64
           " inuse_objects=%" PRIu64 "\n",
           view->totals.alloc_bytes, view->totals.alloc_objects, view->totals.inuse_bytes, view->totals.inuse_objects);
    printf("# %s, total %.0f\n", live_type_name(view->type), total);
    printf("%15s %7s %7s %15s %7s  %s\n", "flat", "flat%", "sum%", "cum", "cum%", "function");
    for (size_t i = 0; i < count && (view->options->count == 0 || i < view->options->count); i++) {
        double flat = rows[i]->flat[view->type], cum = rows[i]->cum[view->type];
        sum += flat;
        printf("%15.0f %6.2f%% %6.2f%% %15.0f %6.2f%%  %s\n", flat, total > 0 ? 100 * flat / total : 0,
               total > 0 ? 100 * sum / total : 0, cum, total > 0 ? 100 * cum / total : 0, rows[i]->name);
    }
}

/* ---- The screen ---- */

static bool is_space(enum live_type type) {
    return type == LIVE_ALLOC_SPACE || type == LIVE_INUSE_SPACE;
}

static const char *value_text(const struct view *view, double value, char text[SIZE_TEXT_MAX]) {
    if (is_space(view->type))
        return size_text(value > 0 ? (uint64_t)(value + 0.5) : 0, text);
    snprintf(text, SIZE_TEXT_MAX, "%.0f", value);
    return text;
}

static double rate_of(const struct view *view, uint64_t now, uint64_t last) {
    double seconds = (double)(view->looked_ns - view->last_ns) / 1e9;
    return view->last_ns == 0 || now < last || seconds <= 0 ? 0 : (double)(now - last) / seconds;
}

static void show_head(const struct view *view) {
    const struct segment_totals *now = &view->totals;
    const struct segment_header *header = &view->file.view.header;
    char text[5][SIZE_TEXT_MAX], name[64], line[512];
    double age = (double)(segment_now() - header->start_mono_ns) / 1e9;
    snprintf(line, sizeof line, "cprof top: %s (%d), %.0f s, %s%s%s", segment_name(&view->file, name), (int)view->pid,
             age > 0 ? age : 0, header->rate <= 1 ? "all recorded" : "a sample every ",
             header->rate <= 1 ? "" : size_text(header->rate, text[0]),
             header->private_memory ? ", INCOMPLETE: /dev/shm is full" : "");
    screen_line(line, false);
    snprintf(line, sizeof line, "allocated %s in %" PRIu64 " blocks, %s/s, %.0f blocks/s",
             size_text(now->alloc_bytes, text[0]), now->alloc_objects,
             size_text((uint64_t)rate_of(view, now->alloc_bytes, view->last.alloc_bytes), text[1]),
             rate_of(view, now->alloc_objects, view->last.alloc_objects));
    screen_line(line, false);
    snprintf(line, sizeof line, "in use %s%s in %" PRIu64 " blocks%s%s%s; dropped %" PRIu64 "; profiler's own %s",
             size_mark(now), size_estimate_text(now->inuse_bytes, now->inuse_error, text[0]), now->inuse_objects, now->has_peak ? ", at the peak " : "",
             now->has_peak ? size_mark(now) : "",
             now->has_peak ? size_estimate_text(now->peak_bytes, now->peak_error, text[1]) : "", header->dropped,
             size_text(header->own_bytes, text[2]));
    screen_line(line, false);
    snprintf(line, sizeof line, "%s by %s, total %s   q quit  s type  c flat/cum  up/down/page scroll",
             live_type_name(view->type), view->by_cum ? "cum" : "flat",
             value_text(view, live_total(view->live, view->type), text[0]));
    screen_line(line, false);
}

#define HEAD_LINES 5u

static void show(struct view *view) {
    const struct live_row *const *rows;
    size_t count = live_rows(view->live, view->type, view->by_cum, &rows), height, width;
    double total = live_total(view->live, view->type);
    char line[1024], text[2][SIZE_TEXT_MAX];
    screen_size(&height, &width);
    size_t room = height > HEAD_LINES ? height - HEAD_LINES : 1;
    if (view->options->count > 0 && room > view->options->count)
        room = view->options->count;
    if (view->top + room > count)
        view->top = count > room ? count - room : 0;
    screen_begin();
    show_head(view);
    snprintf(line, sizeof line, "%10s %6s %10s %6s  %-*s", "flat", "flat%", "cum", "cum%",
             (int)(width > 36 ? width - 36 : 0), "function");
    screen_line(line, true);
    for (size_t i = view->top; i < count && i < view->top + room; i++) {
        double flat = rows[i]->flat[view->type], cum = rows[i]->cum[view->type];
        snprintf(line, sizeof line, "%10s %5.1f%% %10s %5.1f%%  %.900s", value_text(view, flat, text[0]),
                 total > 0 ? 100 * flat / total : 0, value_text(view, cum, text[1]), total > 0 ? 100 * cum / total : 0,
                 rows[i]->name);
        screen_line(line, false);
    }
    screen_end();
}

/* True when the user has seen enough. */
static bool take_key(struct view *view, int key) {
    size_t height, width;
    screen_size(&height, &width);
    size_t page = height > HEAD_LINES + 1 ? height - HEAD_LINES - 1 : 1;
    switch (key) {
    case 's':
        view->type = (enum live_type)((view->type + 1) % LIVE_TYPES);
        break;
    case 'c':
        view->by_cum = !view->by_cum;
        break;
    case SCREEN_UP:
        view->top -= view->top > 0;
        break;
    case SCREEN_DOWN:
        view->top++;
        break;
    case SCREEN_PAGE_UP:
        view->top -= view->top > page ? page : view->top;
        break;
    case SCREEN_PAGE_DOWN:
    case ' ':
        view->top += page;
        break;
    case SCREEN_HOME:
        view->top = 0;
        break;
    case SCREEN_END:
        view->top = SIZE_MAX / 2;
        break;
    default:
        return key == 'q' || key == 'Q' || key == SCREEN_CLOSED;
    }
    return false;
}

/* Until the next look is due; true when that won't be. */
static bool wait_for_keys(struct view *view) {
    uint64_t due = view->looked_ns + (uint64_t)(view->options->interval * 1e9);
    for (;;) {
        uint64_t now = segment_now();
        int key = screen_key(now < due ? (double)(due - now) / 1e9 : 0.001);
        if (take_key(view, key))
            return true;
        if (key == SCREEN_NONE)
            return false;
        show(view);
    }
}

/* The process may have become another program by exec, which has a segment of its own. */
static bool is_still_there(struct view *view) {
    const char *reason;
    struct segment_file file;
    segment_find_owner(&view->file);
    if (view->file.life == SEGMENT_ALIVE)
        return true;
    if (segment_open_process(&file, view->pid, &reason) != 0)
        return false;
    segment_close(&file);
    close_process(view);
    return open_process(view) == EXIT_OK;
}

static int watch(struct view *view) {
    int code = EXIT_OK;
    if (!screen_open()) {
        tool_error("terminal", "%s", strerror(errno));
        return EXIT_SYSTEM;
    }
    for (;;) {
        show(view);
        if (wait_for_keys(view))
            break;
        if (!is_still_there(view)) {
            screen_close();
            fprintf(stderr, "cprof: %d: the process has ended\n", (int)view->pid);
            return EXIT_OK;
        }
        code = look(view);
        if (code != EXIT_OK)
            break;
    }
    screen_close();
    return code;
}

int live_top(pid_t pid, const struct live_top_options *options) {
    struct view view = {.options = options, .pid = pid, .type = options->type, .by_cum = options->by_cum};
    view.file.fd = -1;
    int code = open_process(&view);
    if (code == EXIT_OK)
        code = look(&view);
    if (code == EXIT_OK && (options->once || !isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO)))
        print_once(&view);
    else if (code == EXIT_OK)
        code = watch(&view);
    close_process(&view);
    return code;
}
