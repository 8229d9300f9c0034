/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/serve.h"

#include "tools/json.h"

#include "preload/record/segment_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define SECOND UINT64_C(1000000000)
#define HTML "text/html; charset=utf-8"
#define JSON "application/json"
#define TEXT "text/plain; charset=utf-8"

/* What the linker made of the page. */
extern const char _binary_serve_html_start[], _binary_serve_html_end[];

/* ---- Writing ---- */

struct writing {
    FILE *out;
    char *bytes;
    size_t len;
};

static FILE *begin(struct writing *writing) {
    *writing = (struct writing){0};
    writing->out = open_memstream(&writing->bytes, &writing->len);
    return writing->out;
}

static void finish(struct request *request, struct writing *writing, unsigned status, const char *type) {
    if (fclose(writing->out) != 0) {
        free(writing->bytes);
        writing->bytes = NULL;
    }
    request_answer(request, status, type, writing->bytes, writing->len);
}

static void out_of_memory(struct request *request) {
    request_answer(request, 0, NULL, NULL, 0);
}

/* For pages and for texts: what is not plain is replaced. */
static void print_plain(FILE *out, const char *text, bool html) {
    for (const unsigned char *at = (const unsigned char *)text; *at; at++)
        if (*at < ' ' || *at >= 0x7f)
            putc('?', out);
        else if (html && strchr("<>&\"'", *at))
            fprintf(out, "&#%d;", *at);
        else
            putc(*at, out);
}

/* ---- Which process ---- */

static void print_list(FILE *out, const struct processes *processes) {
    for (size_t i = 0; i < processes->count; i++) {
        fprintf(out, "%8d  ", (int)processes->at[i].pid);
        print_plain(out, processes->at[i].name, false);
        putc('\n', out);
    }
}

/* Answers with those that there are to choose from. */
static void list_choice(struct request *request, unsigned status, const char *why) {
    const struct processes *processes = &request->server->processes;
    struct writing writing;
    FILE *out = begin(&writing);
    if (!out) {
        out_of_memory(request);
        return;
    }
    fprintf(out, "%s; %s\n", why, processes->count > 0 ? "choose one with ?pid=N:" : "there is none now");
    print_list(out, processes);
    request->answer.refusal = true;
    finish(request, &writing, status, TEXT);
}

/* The process that is meant. False, having answered, if there is none. */
static bool choose(struct request *request, pid_t *pid) {
    struct processes *processes = &request->server->processes;
    bool several;
    if (request->query.bad_pid) {
        request_refuse(request, MHD_HTTP_BAD_REQUEST, "invalid value for \"pid\" - must be a positive integer");
        return false;
    }
    if (request->query.has_pid) {
        *pid = request->query.pid;
        return true;
    }
    processes_look(processes, SECOND / 2);
    const struct served *served = processes_default(processes, &several);
    if (!served && !several) {
        /* It may have begun since. */
        processes_look(processes, 0);
        served = processes_default(processes, &several);
    }
    if (!served) {
        list_choice(request, several ? MHD_HTTP_MULTIPLE_CHOICES : MHD_HTTP_NOT_FOUND,
                    several                  ? "several processes are being profiled"
                    : processes->chosen != 0 ? "the process has ended, or is not profiled any more"
                    : processes->pattern     ? "no process of that name is being profiled"
                                             : "no process is being profiled");
        return false;
    }
    *pid = served->pid;
    return true;
}

/* ---- Pages ---- */

static void show_page(struct request *request) {
    size_t len = (size_t)(_binary_serve_html_end - _binary_serve_html_start);
    char *copy = malloc(len + 1);
    if (copy)
        memcpy(copy, _binary_serve_html_start, len);
    request->answer.page = true;
    request_answer(request, MHD_HTTP_OK, HTML, copy, len);
}

struct description {
    const char *name;
    const char *text;
};

static const struct description descriptions[] = {
    {"allocs", "A sampling of all past memory allocations"},
    {"heap", "A sampling of memory allocations of live objects"},
    {"cmdline", "The command line invocation of the program"},
    {"symbol", "Names of functions for addresses, given as 0x1234+0x5678 in the query or posted"},
};

static void show_index(struct request *request) {
    struct processes *processes = &request->server->processes;
    struct writing writing;
    FILE *out = begin(&writing);
    if (!out) {
        out_of_memory(request);
        return;
    }
    processes_look(processes, SECOND / 2);
    fprintf(out, "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>/debug/pprof/</title>\n"
                 "<style>body { font: 14px/1.5 system-ui, sans-serif; margin: 2em } td, th { padding: 2px 14px 2px 0; "
                 "text-align: left } td.n { text-align: right }</style></head>\n<body><h1>/debug/pprof/</h1>\n"
                 "<p>Profiles of the heap, for <code>go tool pprof</code> and whatever reads such. "
                 "<a href=\"/\">Live view</a></p>\n<table><tr><th>Process</th><th>Name</th><th>Profiles</th></tr>\n");
    for (size_t i = 0; i < processes->count; i++) {
        const struct served *served = &processes->at[i];
        int pid = (int)served->pid;
        fprintf(out, "<tr><td class=\"n\">%d</td><td>", pid);
        print_plain(out, served->name, true);
        fprintf(out,
                "</td><td><a href=\"allocs?pid=%d\">allocs</a> (<a href=\"allocs?pid=%d&amp;debug=1\">text</a>) "
                "<a href=\"heap?pid=%d\">heap</a> (<a href=\"heap?pid=%d&amp;debug=1\">text</a>) "
                "<a href=\"cmdline?pid=%d\">cmdline</a></td></tr>\n",
                pid, pid, pid, pid, pid);
    }
    fprintf(out, "</table>\n<p>%s</p>\n<dl>\n",
            processes->count == 0 ? "No process of this user is being profiled." : "");
    for (size_t i = 0; i < sizeof descriptions / sizeof descriptions[0]; i++)
        fprintf(out, "<dt>%s</dt><dd>%s</dd>\n", descriptions[i].name, descriptions[i].text);
    fprintf(out, "</dl>\n<p><code>?seconds=N</code> gives the difference over N seconds, <code>?debug=1</code> a text, "
                 "<code>?pid=N</code> one of several processes.</p>\n</body></html>\n");
    finish(request, &writing, MHD_HTTP_OK, HTML);
}

/* ---- Lists for programs ---- */

static void print_served(FILE *out, const struct served *served, const struct segment_totals *totals, uint64_t now_ns) {
    fprintf(out, "{\"pid\":%d,\"ticks\":\"%" PRIu64 "\",\"name\":", (int)served->pid, served->ticks);
    json_print_string(out, served->name, strlen(served->name));
    double age = now_ns > served->start_wall_ns ? (double)(now_ns - served->start_wall_ns) / 1e9 : 0;
    fprintf(out, ",\"age_seconds\":%.3f,\"rate\":%" PRIu64 ",\"complete\":%s", age, served->rate,
            served->complete ? "true" : "false");
    fprintf(out,
            ",\"alloc_space\":%" PRIu64 ",\"alloc_objects\":%" PRIu64 ",\"inuse_space\":%" PRIu64
            ",\"inuse_objects\":%" PRIu64 ",\"samples\":%" PRIu64 ",\"inuse_mark\":\"%s\"}",
            totals->alloc_bytes, totals->alloc_objects, totals->inuse_bytes, totals->inuse_objects, totals->samples,
            size_mark(totals));
}

static void show_processes(struct request *request) {
    struct processes *processes = &request->server->processes;
    struct writing writing;
    struct timespec now;
    bool several;
    FILE *out = begin(&writing);
    if (!out) {
        out_of_memory(request);
        return;
    }
    processes_look(processes, SECOND / 4);
    const struct served *chosen = processes_default(processes, &several);
    clock_gettime(CLOCK_REALTIME, &now);
    uint64_t now_ns = (uint64_t)now.tv_sec * SECOND + (uint64_t)now.tv_nsec;
    fprintf(out, "{\"cprof\":\"%s\",\"time\":%.3f,\"default\":%d,\"processes\":[", CPROF_VERSION, (double)now_ns / 1e9,
            chosen ? (int)chosen->pid : 0);
    const char *between = "\n";
    for (size_t i = 0; i < processes->count; i++) {
        const struct segment_totals *totals = processes_totals(&processes->at[i]);
        if (!totals)
            continue;
        fputs(between, out);
        print_served(out, &processes->at[i], totals, now_ns);
        between = ",\n";
    }
    fprintf(out, "]}\n");
    finish(request, &writing, MHD_HTTP_OK, JSON);
}

/* As Prometheus' http_sd has it: one target each, told apart by a parameter of the query. */
static void show_targets(struct request *request) {
    struct processes *processes = &request->server->processes;
    const char *host = http.MHD_lookup_connection_value(request->connection, MHD_HEADER_KIND, "Host");
    struct writing writing;
    FILE *out = begin(&writing);
    if (!out) {
        out_of_memory(request);
        return;
    }
    processes_look(processes, SECOND / 2);
    fputc('[', out);
    for (size_t i = 0; i < processes->count; i++) {
        const struct served *served = &processes->at[i];
        fprintf(out, "%s\n{\"targets\":[", i > 0 ? "," : "");
        json_print_string(out, host, strlen(host));
        fprintf(out, "],\"labels\":{\"__param_pid\":\"%d\",\"pid\":\"%d\",\"exe\":", (int)served->pid,
                (int)served->pid);
        json_print_string(out, served->name, strlen(served->name));
        fprintf(out, ",\"service_name\":");
        json_print_string(out, served->name, strlen(served->name));
        fprintf(out, "}}");
    }
    fprintf(out, "]\n");
    finish(request, &writing, MHD_HTTP_OK, JSON);
}

/* ---- Profiles ---- */

static void show_cmdline(struct request *request) {
    char path[64];
    pid_t pid;
    struct segment_file file;
    if (!choose(request, &pid))
        return;
    if (processes_open(&request->server->processes, pid, &file) != 0) {
        list_choice(request, MHD_HTTP_NOT_FOUND, "no such process is being profiled");
        return;
    }
    segment_close(&file);
    snprintf(path, sizeof path, "/proc/%d/cmdline", (int)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    size_t room = 131072, len = 0;
    char *text = malloc(room);
    for (ssize_t n; text && fd >= 0 && len < room && (n = read(fd, text + len, room - len)) > 0;)
        len += (size_t)n;
    if (fd >= 0)
        close(fd);
    /* Go puts a zero byte between arguments, and none behind the last. */
    if (len > 0 && text[len - 1] == '\0')
        len--;
    request_answer(request, MHD_HTTP_OK, TEXT, text, len);
}

static void show_symbols(struct request *request) {
    pid_t pid;
    const char *text = request->query.raw;
    size_t len = strlen(text);
    if (!choose(request, &pid))
        return;
    if (strcmp(request->method, "POST") == 0) {
        text = request->body;
        len = request->body_len;
    } else if (request->query.has_pid && strncmp(text, "pid=", 4) == 0) {
        text += strcspn(text, "&");
        len = strlen(text);
    }
    job_start_symbols(request, pid, text, len);
}

static void show_profile(struct request *request, const char *kind, enum form form) {
    const struct query *query = &request->query;
    pid_t pid;
    if (query->bad_seconds)
        request_refuse(request, MHD_HTTP_BAD_REQUEST, "invalid value for \"seconds\" - must be a positive integer");
    else if (query->has_seconds && query->seconds > SERVE_SECONDS_MAX)
        request_refuse(request, MHD_HTTP_BAD_REQUEST, "\"seconds\" may be at most %d", SERVE_SECONDS_MAX);
    else if (query->has_seconds && query->debug != 0)
        request_refuse(request, MHD_HTTP_BAD_REQUEST, "seconds and debug params are incompatible");
    else if (choose(request, &pid))
        job_start(request, pid, kind, form == FORM_GZIP && query->debug != 0 ? FORM_TEXT : form);
}

static void show_heap(struct request *request) {
    show_profile(request, "heap", FORM_GZIP);
}

static void show_allocs(struct request *request) {
    show_profile(request, "allocs", FORM_GZIP);
}

static void show_flame(struct request *request) {
    show_profile(request, "heap", FORM_FLAME);
}

static void show_others(struct request *request) {
    request_refuse(request, MHD_HTTP_NOT_IMPLEMENTED, "cprof profiles the heap alone; there are heap and allocs");
}

static void redirect(struct request *request) {
    request->answer.location = "/debug/pprof/";
    request_answer(request, MHD_HTTP_MOVED_PERMANENTLY, TEXT, strdup("/debug/pprof/\n"), 14);
}

/* ---- Paths ---- */

struct route {
    const char *path;
    void (*show)(struct request *request);
};

static const struct route routes[] = {
    {"/", show_page},
    {"/targets", show_targets},
    {"/api/processes", show_processes},
    {"/api/flame", show_flame},
    {"/debug/pprof", redirect},
    {"/debug/pprof/", show_index},
    {"/debug/pprof/allocs", show_allocs},
    {"/debug/pprof/heap", show_heap},
    {"/debug/pprof/cmdline", show_cmdline},
    {"/debug/pprof/symbol", show_symbols},
    {"/debug/pprof/block", show_others},
    {"/debug/pprof/goroutine", show_others},
    {"/debug/pprof/mutex", show_others},
    {"/debug/pprof/profile", show_others},
    {"/debug/pprof/threadcreate", show_others},
    {"/debug/pprof/trace", show_others},
};

void request_route(struct request *request) {
    for (size_t i = 0; i < sizeof routes / sizeof routes[0]; i++)
        if (strcmp(request->path, routes[i].path) == 0) {
            routes[i].show(request);
            return;
        }
    if (strncmp(request->path, "/debug/pprof/", 13) == 0)
        request_refuse(request, MHD_HTTP_NOT_FOUND, "Unknown profile");
    else
        request_refuse(request, MHD_HTTP_NOT_FOUND, "404 page not found");
}
