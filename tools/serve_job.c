/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/serve.h"

#include "tools/flame.h"

#include "proto/reader.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SECOND UINT64_C(1000000000)

/* The page shows a profile of this many frames; more would be too small to be seen, and slow to send every two seconds.
 */
#define FLAME_FRAMES 20000u

/* Most addresses to be named at once. */
#define SYMBOLS_MAX 20000u

/* ---- Answers ---- */

static void out_of_memory(struct request *request) {
    request_refuse(request, MHD_HTTP_INTERNAL_SERVER_ERROR, "out of memory");
}

static void refuse_open(struct request *request, int rc) {
    if (rc == -ESRCH || rc == -ENOENT)
        request_refuse(request, MHD_HTTP_NOT_FOUND, "process %d has ended, or is not being profiled",
                       (int)request->pid);
    else
        request_refuse(request, MHD_HTTP_INTERNAL_SERVER_ERROR, "process %d: %s", (int)request->pid, strerror(-rc));
}

static void answer_gzip(struct request *request) {
    struct segment_bytes bytes;
    if (strcmp(request->kind, "allocs") == 0 && profile_set_default_type(request->profile, "alloc_space") != 0) {
        out_of_memory(request);
        return;
    }
    if (profile_to_bytes(request->profile, &request->samples, &bytes) != 0) {
        out_of_memory(request);
        return;
    }
    bool difference = request->query.has_seconds;
    if (strcmp(request->kind, "allocs") == 0)
        request->answer.filename = difference ? "allocs-delta" : "allocs";
    else
        request->answer.filename = difference ? "heap-delta" : "heap";
    request_answer(request, MHD_HTTP_OK, "application/octet-stream", (char *)bytes.at, bytes.len);
}

static int print_flame(FILE *out, const struct request *request) {
    char name[32];
    struct flame flame;
    snprintf(name, sizeof name, "process %d", (int)request->pid);
    int64_t rc = flame_init(&flame, request->profile, false);
    if (rc == 0)
        rc = flame_fold(&flame, FLAME_FRAMES);
    if (rc >= 0) {
        char note[128];
        const char *notes[] = {rc > 0 ? note : NULL, NULL};
        snprintf(note, sizeof note, "%" PRId64 " frames, the smallest, are folded into %s", rc, FLAME_SMALL);
        int type = profile_sample_type(request->profile, "inuse_space");
        struct flame_about about = {
            .profile = request->profile, .file = name, .notes = notes, .type = type >= 0 ? (size_t)type : 0};
        rc = flame_print_data(out, &flame, &about);
    }
    flame_release(&flame);
    return rc < 0 ? (int)rc : 0;
}

static int print_symbols(FILE *out, const struct request *request) {
    const ProfProfile *profile = request->profile;
    fprintf(out, "num_symbols: 1\n");
    for (size_t i = 0; i < profile->n_location; i++) {
        const ProfLocation *location = profile->location[i];
        if (location->n_line == 0)
            continue;
        /* As Go: the function that the others were inlined into is what the address is in. */
        const ProfLine *line = location->line[location->n_line - 1];
        ProtobufCBinaryData name = profile_text(profile, profile->function[line->function_id - 1]->name);
        if (name.len > 0 && name.data[0] != '[')
            fprintf(out, "%#" PRIx64 " %.*s\n", location->address, (int)name.len, (const char *)name.data);
    }
    return 0;
}

static void answer_printed(struct request *request) {
    char *bytes = NULL;
    size_t len;
    FILE *out = open_memstream(&bytes, &len);
    int rc = !out                          ? -ENOMEM
             : request->form == FORM_TEXT  ? profile_print(out, request->profile)
             : request->form == FORM_FLAME ? print_flame(out, request)
                                           : print_symbols(out, request);
    if (out && fclose(out) != 0)
        rc = -ENOMEM;
    if (rc != 0) {
        free(bytes);
        out_of_memory(request);
        return;
    }
    request_answer(request, MHD_HTTP_OK, request->form == FORM_FLAME ? "application/json" : "text/plain; charset=utf-8",
                   bytes, len);
}

static void answer(struct request *request) {
    if (request->form == FORM_GZIP)
        answer_gzip(request);
    else
        answer_printed(request);
}

/* ---- Names ---- */

/* Answers if all names are there, or if they take too long. */
static void try_names(struct request *request, uint64_t now_ns) {
    struct server *server = request->server;
    struct names_list wanted = {0};
    bool late = now_ns >= request->due_ns;
    int rc = name_cache_apply(server->names, request->profile, late ? NULL : &wanted);
    if (rc == 0 && !late && wanted.count > 0) {
        wanted.process = request->pid;
        if (server->worker.pid == 0)
            late = worker_start(&server->worker, &wanted) != 0;
        if (!late) {
            names_list_free(&wanted);
            return;
        }
    }
    names_list_free(&wanted);
    if (rc != 0)
        out_of_memory(request);
    else
        answer(request);
}

static void wait_for_names(struct request *request) {
    uint64_t now = segment_now();
    request->step = STEP_NAMES;
    request->due_ns = now + SERVE_NAMES_SECONDS * SECOND;
    try_names(request, now);
}

/* ---- Profiles ---- */

static void start_difference(struct request *request, const struct segment_file *file) {
    unsigned waiting = 0;
    for (const struct request *other = request->server->requests; other; other = other->next)
        waiting += other->step == STEP_SECONDS;
    if (waiting >= SERVE_WAITING) {
        request_refuse(request, MHD_HTTP_SERVICE_UNAVAILABLE, "%u differences are being waited for already", waiting);
        return;
    }
    int rc = moment_take(&request->before, file, MOMENT_BEFORE);
    if (rc != 0) {
        refuse_open(request, rc);
        return;
    }
    request->step = STEP_SECONDS;
    request->due_ns = segment_now() + (uint64_t)request->query.seconds * SECOND;
}

/* The profile as of now, or what changed since. */
static void take_profile(struct request *request, const struct segment_file *file) {
    struct moment now;
    int rc = moment_take(&now, file, request->before.bytes.at ? MOMENT_AFTER : MOMENT_ALONE);
    if (rc != 0) {
        refuse_open(request, rc);
        return;
    }
    if (request->before.bytes.at && request->before.inode != now.inode)
        request_refuse(request, MHD_HTTP_NOT_FOUND, "process %d has executed another program meanwhile",
                       (int)request->pid);
    else
        request->profile = request->before.bytes.at        ? moment_difference(&request->before, &now)
                           : request->form == FORM_GZIP ? moment_frame(&now, &request->samples)
                                                        : moment_profile(&now);
    moment_release(&now);
    if (request->step == STEP_ANSWERED)
        return;
    moment_release(&request->before);
    if (!request->profile)
        out_of_memory(request);
    else
        wait_for_names(request);
}

static void with_segment(struct request *request, void (*then)(struct request *, const struct segment_file *)) {
    struct segment_file file;
    int rc = processes_open(&request->server->processes, request->pid, &file);
    if (rc != 0) {
        refuse_open(request, rc);
        return;
    }
    then(request, &file);
    segment_close(&file);
}

void job_start(struct request *request, pid_t pid, const char *kind, enum form form) {
    request->pid = pid;
    request->kind = kind;
    request->form = form;
    with_segment(request, request->query.has_seconds ? start_difference : take_profile);
}

/* ---- Symbols ---- */

/* Gives each address its mapping; those without one have no names. */
static void place_locations(ProfProfile *profile) {
    size_t count = profile->n_location;
    profile->n_location = 0;
    for (size_t i = 0; i < count; i++) {
        ProfLocation *location = profile->location[i];
        for (size_t k = 0; k < profile->n_mapping; k++)
            if (location->address >= profile->mapping[k]->memory_start &&
                location->address < profile->mapping[k]->memory_limit)
                location->mapping_id = profile->mapping[k]->id;
        if (location->mapping_id != 0)
            profile->location[profile->n_location++] = location;
        else
            protobuf_c_message_free_unpacked(&location->base, NULL);
    }
}

/* Finds the mapping of each address: among those that the process has been seen to run. */
static void place_addresses(struct request *request, const struct segment_file *file) {
    struct moment now;
    ProfProfile *asked = request->profile;
    int rc = moment_take(&now, file, MOMENT_ALONE);
    if (rc != 0) {
        refuse_open(request, rc);
        return;
    }
    ProfProfile *profile = moment_frame(&now, &request->samples);
    moment_release(&now);
    if (!profile) {
        out_of_memory(request);
        return;
    }
    /* The profile's mappings, with the addresses that were asked for as its locations. */
    ProfLocation **locations = profile->location;
    size_t count = profile->n_location;
    profile->location = asked->location;
    profile->n_location = asked->n_location;
    asked->location = locations;
    asked->n_location = count;
    profile_free(asked);
    place_locations(profile);
    request->profile = profile;
    wait_for_names(request);
}

static bool add_address(ProfProfile *profile, uint64_t address) {
    ProfLocation *location = malloc(sizeof *location);
    if (!location)
        return false;
    perftools__profiles__location__init(location);
    location->address = address;
    profile->location[profile->n_location++] = location;
    location->id = profile->n_location;
    return true;
}

/* Numbers, as strconv.ParseUint takes them with base 0, one behind each other with + between; what is none is left
 * out. */
static bool read_addresses(ProfProfile *profile, const char *text, size_t len) {
    bool good = true;
    for (size_t at = 0; good && at < len && profile->n_location < SYMBOLS_MAX; at++) {
        char word[32], *end;
        size_t start = at;
        while (at < len && text[at] != '+' && text[at] != '&')
            at++;
        if (at == start || at - start >= sizeof word || text[start] < '0' || text[start] > '9')
            continue;
        memcpy(word, text + start, at - start);
        word[at - start] = '\0';
        errno = 0;
        uint64_t address = strtoull(word, &end, 0);
        if (*end == '\0' && errno == 0 && address != 0)
            good = add_address(profile, address);
    }
    return good;
}

void job_start_symbols(struct request *request, pid_t pid, const char *text, size_t len) {
    request->pid = pid;
    request->form = FORM_SYMBOLS;
    ProfProfile *profile = request->profile = malloc(sizeof *profile);
    if (profile) {
        perftools__profiles__profile__init(profile);
        profile->location = calloc(SYMBOLS_MAX, sizeof(ProfLocation *));
    }
    if (!profile || !profile->location || !read_addresses(profile, text, len))
        out_of_memory(request);
    else
        with_segment(request, place_addresses);
}

/* ---- Waiting ---- */

void job_continue(struct request *request, uint64_t now_ns, bool names) {
    if (request->step == STEP_SECONDS && now_ns >= request->due_ns)
        with_segment(request, take_profile);
    else if (request->step == STEP_NAMES && (names || now_ns >= request->due_ns))
        try_names(request, now_ns);
}

void job_release(struct request *request) {
    profile_free(request->profile);
    request->profile = NULL;
    free(request->samples.at);
    request->samples = (struct segment_bytes){0};
    moment_release(&request->before);
}
