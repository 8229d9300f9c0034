/* SPDX-License-Identifier: Apache-2.0 */
/* cprof ls: what is being profiled, and what is left of what was. */
#include "tools/segment_totals.h"
#include "tools/segments.h"
#include "tools/tool.h"

#include "preload/record/segment_file.h"

#include <dirent.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { OPTION_JSON = TOOL_LONG };

#define AGE_TEXT_MAX 24
#define MARKED_TEXT_MAX (SIZE_TEXT_MAX + 4)

static const struct tool_option options[] = {
    {'a', "all", NULL, "the processes of all users, as far as they may be looked at"},
    {OPTION_JSON, "json", NULL, "print it as a JSON array, with all figures in bytes"},
    {0},
};

struct row {
    unsigned pid;
    const char *state;
    char name[64];
    char age[AGE_TEXT_MAX];
    char rate[SIZE_TEXT_MAX], allocated[SIZE_TEXT_MAX], in_use[MARKED_TEXT_MAX], peak[MARKED_TEXT_MAX];
    char *out; /* where the profile of a dead one would go */
};

struct listing {
    bool json;
    struct row *row; /* of the table */
    unsigned rows;   /* of it, or objects in JSON */
    unsigned recoverable;
    int code;
    uid_t uid;
};

static const char *state_of(const struct segment_file *file) {
    if (file->life == SEGMENT_ALIVE)
        return "alive";
    if (file->life == SEGMENT_UNSEEN)
        return "unseen";
    return file->view.header.state == SEGMENT_WRITTEN ? "finished" : "dead";
}

/* ---- JSON ---- */

static void print_json_text(const char *text) {
    putchar('"');
    for (const unsigned char *at = (const unsigned char *)text; *at; at++) {
        if (*at == '"' || *at == '\\')
            printf("\\%c", *at);
        else if (*at < ' ' || *at >= 0x7f)
            printf("\\u%04x", *at); /* bytes that may be of any encoding, as if of Latin-1 */
        else
            putchar(*at);
    }
    putchar('"');
}

static void print_json(struct listing *listing, const struct segment_file *file, const struct segment_totals *totals,
                       double age, const char *out) {
    const struct segment_header *header = &file->view.header;
    printf("%s\n  {\"pid\": %u, \"state\": \"%s\", \"uid\": %u, \"name\": ", listing->rows > 0 ? "," : "",
           file->life == SEGMENT_ALIVE ? (unsigned)file->process : file->pid, state_of(file), (unsigned)file->uid);
    print_json_text(header->name);
    printf(", \"age_seconds\": %.3f, \"rate\": %" PRIu64, age, header->rate);
    printf(", \"alloc_space\": %" PRIu64 ", \"alloc_objects\": %" PRIu64 ", \"inuse_space\": %" PRIu64
           ", \"inuse_objects\": %" PRIu64,
           totals->alloc_bytes, totals->alloc_objects, totals->inuse_bytes, totals->inuse_objects);
    if (totals->has_peak)
        printf(", \"peak_space\": %" PRIu64 ", \"peak_objects\": %" PRIu64, totals->peak_bytes, totals->peak_objects);
    printf(", \"samples\": %" PRIu64 ", \"dropped\": %" PRIu64 ", \"own_bytes\": %" PRIu64 ", \"complete\": %s",
           totals->samples, header->dropped, header->own_bytes, header->private_memory ? "false" : "true");
    printf(", \"out\": ");
    print_json_text(out);
    printf(", \"segment\": ");
    print_json_text(file->path);
    putchar('}');
}

/* ---- The table ---- */

static void age_text(double seconds, char text[AGE_TEXT_MAX]) {
    uint64_t s = seconds > 0 ? (uint64_t)seconds : 0;
    if (s < 60)
        snprintf(text, AGE_TEXT_MAX, "%.1fs", seconds > 0 ? seconds : 0);
    else if (s < 3600)
        snprintf(text, AGE_TEXT_MAX, "%" PRIu64 "m%02" PRIu64 "s", s / 60, s % 60);
    else if (s < 86400)
        snprintf(text, AGE_TEXT_MAX, "%" PRIu64 "h%02" PRIu64 "m", s / 3600, s / 60 % 60);
    else
        snprintf(text, AGE_TEXT_MAX, "%" PRIu64 "d%02" PRIu64 "h", s / 86400, s / 3600 % 24);
}

static void mark(const struct segment_totals *totals, uint64_t bytes, double error, char text[MARKED_TEXT_MAX]) {
    char size[SIZE_TEXT_MAX];
    snprintf(text, MARKED_TEXT_MAX, "%s%s", size_mark(totals), size_estimate_text(bytes, error, size));
}

/* printf() counts bytes, and a mark is one character of several. */
static int column(int width, const char *text) {
    for (; *text; text++)
        width += ((unsigned char)*text & 0xc0) == 0x80;
    return width;
}

/* Kept until all are known, since the longest name says how wide their column is. */
static bool add_row(struct listing *listing, const struct segment_file *file, const struct segment_totals *totals,
                    double age, const char *out) {
    const struct segment_header *header = &file->view.header;
    if ((listing->rows & (listing->rows - 1)) == 0) {
        struct row *more = realloc(listing->row, (listing->rows > 0 ? 2 * listing->rows : 1) * sizeof *more);
        if (!more)
            return false;
        listing->row = more;
    }
    struct row *row = &listing->row[listing->rows];
    *row = (struct row){
        .pid = file->life == SEGMENT_ALIVE ? (unsigned)file->process : file->pid,
        .state = state_of(file),
        .out = file->life == SEGMENT_DEAD ? strdup(out) : NULL,
    };
    segment_name(file, row->name);
    age_text(age, row->age);
    size_text(header->rate, row->rate);
    if (header->rate <= 1)
        strcpy(row->rate, "all");
    size_text(totals->alloc_bytes, row->allocated);
    mark(totals, totals->inuse_bytes, totals->inuse_error, row->in_use);
    if (totals->has_peak)
        mark(totals, totals->peak_bytes, totals->peak_error, row->peak);
    else
        strcpy(row->peak, "-");
    return true;
}

static void print_table(struct listing *listing) {
    int width = 0;
    for (unsigned i = 0; i < listing->rows; i++) {
        int len = (int)strlen(listing->row[i].name);
        width = len > width ? len : width;
    }
    if (listing->rows > 0)
        printf("%7s %-*s %-8s %8s %10s %10s %10s %10s\n", "PID", width, "NAME", "STATE", "AGE", "RATE", "ALLOCATED",
               "IN USE", "PEAK");
    for (unsigned i = 0; i < listing->rows; i++) {
        struct row *row = &listing->row[i];
        printf("%7u %-*s %-8s %8s %10s %10s %*s %*s%s%s\n", row->pid, width, row->name, row->state, row->age, row->rate,
               row->allocated, column(10, row->in_use), row->in_use, column(10, row->peak), row->peak,
               row->out && row->out[0] ? "  " : "", row->out ? row->out : "");
        free(row->out);
    }
    free(listing->row);
}

static int show(void *ctx, const char *path) {
    struct listing *listing = ctx;
    struct segment_file file;
    struct segment_totals totals;
    struct timespec now;
    char out[8192];
    const char *reason;
    int rc = segment_open(&file, path, listing->uid, &reason);
    if (rc != 0) {
        /* It may have ended since the directory was read. */
        if (rc != -ENOENT) {
            tool_error(path, "%s", reason);
            listing->code = exit_worse(listing->code, EXIT_INPUT);
        }
        return 0;
    }
    /* Nothing to be seen yet, or any more. */
    bool nothing = file.unfinished || (file.life == SEGMENT_DEAD && file.view.header.state == SEGMENT_WRITTEN);
    if (!nothing && segment_sum(&file, &totals) == 0) {
        clock_gettime(CLOCK_REALTIME, &now);
        double age = (double)now.tv_sec + (double)now.tv_nsec / 1e9 - (double)file.view.header.start_wall_ns / 1e9;
        segment_out(&file, out, sizeof out);
        bool listed = true;
        if (listing->json)
            print_json(listing, &file, &totals, age, out);
        else
            listed = add_row(listing, &file, &totals, age, out);
        listing->rows += listed;
        listing->recoverable += listed && file.life == SEGMENT_DEAD;
        if (!listed)
            listing->code = EXIT_SYSTEM;
    }
    segment_close(&file);
    return 0;
}

static int list_user(struct listing *listing, uid_t uid) {
    char directory[SEGMENT_PATH_MAX];
    listing->uid = uid;
    int rc = segments_each(uid, show, listing);
    if (rc == 0)
        return EXIT_OK;
    segment_directory(uid, directory);
    tool_error(directory, "%s", rc == -EPERM ? "belongs to another user or is open to others" : strerror(-rc));
    return EXIT_INPUT;
}

static int list_all(struct listing *listing) {
    int code = EXIT_OK;
    char parent[] = SEGMENT_FILE_DIRECTORY;
    char *prefix = strrchr(parent, '/') + 1;
    prefix[-1] = '\0';
    DIR *stream = opendir(parent);
    for (const struct dirent *entry; stream && (entry = readdir(stream));) {
        char *end;
        size_t len = strlen(prefix);
        if (strncmp(entry->d_name, prefix, len) != 0)
            continue;
        unsigned long uid = strtoul(entry->d_name + len, &end, 10);
        if (end == entry->d_name + len || *end != '\0' || (geteuid() != 0 && uid != geteuid()))
            continue;
        code = exit_worse(code, list_user(listing, (uid_t)uid));
    }
    if (stream)
        closedir(stream);
    return code;
}

static int run(int argc, char **argv) {
    struct listing listing = {0};
    bool all = false;
    int option, code;
    while ((option = tool_next_option(&command_ls, argc, argv, &code)) > 0) {
        all |= option == 'a';
        listing.json |= option == OPTION_JSON;
    }
    if (option < 0)
        return code;
    if (optind != argc) {
        tool_error("ls", "takes no argument");
        return tool_usage("ls");
    }
    if (listing.json)
        putchar('[');
    code = all ? list_all(&listing) : list_user(&listing, geteuid());
    if (!listing.json)
        print_table(&listing);
    if (listing.json)
        printf("%s]\n", listing.rows > 0 ? "\n" : "");
    else if (listing.rows == 0)
        fprintf(stderr, "cprof: no process is being profiled\n");
    else if (listing.recoverable > 0)
        fprintf(stderr, "cprof: `cprof recover --all` makes the profiles of those that are dead\n");
    return exit_worse(code, listing.code);
}

const struct tool_command command_ls = {
    .name = "ls",
    .summary = "list the processes that are being profiled",
    .usage = "[OPTION]...",
    .about = "List the processes of this user that are being profiled, without disturbing them, and those that were "
             "killed and whose profiles `cprof recover` can make, with the names that these are going to have.",
    .options = options,
    .notes =
        "ALLOCATED is exact, as of each thread's last sample. IN USE is an estimate without bias, marked by ≈, and "
        "exact where all is recorded; where the memory limit was reached it is at least that (≥). PEAK (with "
        "CPROF_PEAK=1) is the highest that it was so far: rather too high where it is an estimate that wavers near "
        "its top for long. A process that can't have its records in shared memory "
        "is not listed.",
    .exits = "0 done, 2 usage, 3 something can't be read.",
    .examples = (const char *const[]){"cprof ls", "cprof ls --json", NULL},
    .run = run,
};
