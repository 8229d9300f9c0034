/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/serve_processes.h"

#include "tools/segment_profile.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct looking {
    struct processes *processes;
    uint64_t *dead; /* the next ones */
    size_t dead_count, dead_room;
};

static struct served *place_for(struct processes *processes, pid_t pid) {
    /* Of a process that executed another program there may be several; the last is that of now. */
    for (size_t i = processes->count; i > 0; i--)
        if (processes->at[i - 1].pid == pid)
            return &processes->at[i - 1];
    if (processes->count == PROCESSES_MAX)
        return NULL;
    if (processes->count == processes->room) {
        size_t room = processes->room ? 2 * processes->room : 16;
        struct served *more = realloc(processes->at, room * sizeof *more);
        if (!more)
            return NULL;
        processes->at = more;
        processes->room = room;
    }
    return &processes->at[processes->count++];
}

static uint64_t hash(const char *text) {
    uint64_t h = UINT64_C(0xcbf29ce484222325);
    for (; *text; text++)
        h = (h ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
    return h;
}

static int compare(const void *left, const void *right) {
    const uint64_t *a = left, *b = right;
    return *a < *b ? -1 : *a > *b;
}

/* What is left of processes that were killed may be much, and is looked at once. */
static void note_dead(struct looking *looking, uint64_t name) {
    if (looking->dead_count == looking->dead_room) {
        size_t room = looking->dead_room ? 2 * looking->dead_room : 64;
        uint64_t *more = realloc(looking->dead, room * sizeof *more);
        if (!more)
            return;
        looking->dead = more;
        looking->dead_room = room;
    }
    looking->dead[looking->dead_count++] = name;
}

static int look_at(void *ctx, const char *path) {
    struct looking *looking = ctx;
    struct processes *processes = looking->processes;
    struct segment_file file;
    const char *reason;
    uint64_t name = hash(path);
    if (processes->dead_count > 0 &&
        bsearch(&name, processes->dead, processes->dead_count, sizeof name, compare) != NULL) {
        note_dead(looking, name);
        return 0;
    }
    if (segment_open(&file, path, geteuid(), &reason) != 0)
        return 0;
    if (file.life == SEGMENT_DEAD && !file.unfinished)
        note_dead(looking, name);
    bool ours = !processes->is_ours || processes->is_ours(processes->ctx, &file);
    if (ours && !file.unfinished && file.life == SEGMENT_ALIVE) {
        struct served *served = place_for(processes, file.process);
        if (served) {
            *served = (struct served){
                .pid = file.process,
                .ticks = file.ticks,
                .start_wall_ns = file.view.header.start_wall_ns,
                .rate = file.view.header.rate,
                .complete = file.view.header.private_memory == 0,
            };
            strcpy(served->path, file.path);
            memcpy(served->name, file.view.header.name, sizeof served->name);
            served->name[sizeof served->name - 1] = '\0';
        }
    }
    segment_close(&file);
    return 0;
}

void processes_look(struct processes *processes, uint64_t age_ns) {
    uint64_t now = segment_now();
    if (processes->looked_ns != 0 && now - processes->looked_ns <= age_ns)
        return;
    struct looking looking = {.processes = processes};
    processes->count = 0;
    segments_each(geteuid(), look_at, &looking);
    processes->looked_ns = now;
    if (looking.dead_count > 0)
        qsort(looking.dead, looking.dead_count, sizeof looking.dead[0], compare);
    free(processes->dead);
    processes->dead = looking.dead;
    processes->dead_count = looking.dead_count;
}

const struct served *processes_find(const struct processes *processes, pid_t pid) {
    for (size_t i = 0; i < processes->count; i++)
        if (processes->at[i].pid == pid)
            return &processes->at[i];
    return NULL;
}

const struct segment_totals *processes_totals(struct served *served) {
    struct segment_file file;
    const char *reason;
    if (!served->summed && segment_open(&file, served->path, geteuid(), &reason) == 0) {
        served->has_totals = !file.unfinished && segment_sum(&file, &served->totals) == 0;
        segment_close(&file);
    }
    served->summed = true;
    return served->has_totals ? &served->totals : NULL;
}

const struct served *processes_default(const struct processes *processes, bool *several) {
    const struct served *found = NULL;
    *several = false;
    if (processes->chosen != 0)
        return processes_find(processes, processes->chosen);
    if (processes->preferred != 0 && (found = processes_find(processes, processes->preferred)) != NULL)
        return found;
    for (size_t i = 0; i < processes->count; i++) {
        const struct served *served = &processes->at[i];
        if (processes->pattern && fnmatch(processes->pattern, served->name, 0) != 0)
            continue;
        *several = found != NULL;
        if (*several)
            return NULL;
        found = served;
    }
    return found;
}

static int open_listed(const struct processes *processes, pid_t pid, struct segment_file *file) {
    const struct served *served = processes_find(processes, pid);
    const char *reason;
    if (!served)
        return -ESRCH;
    int rc = segment_open(file, served->path, geteuid(), &reason);
    if (rc == 0 && (file->unfinished || file->life != SEGMENT_ALIVE || file->process != pid)) {
        segment_close(file);
        rc = -ESRCH;
    }
    return rc;
}

int processes_open(struct processes *processes, pid_t pid, struct segment_file *file) {
    int rc = open_listed(processes, pid, file);
    if (rc == 0)
        return 0;
    /* It may have begun, or executed another program, since. */
    processes_look(processes, 0);
    return open_listed(processes, pid, file);
}

void processes_release(struct processes *processes) {
    free(processes->at);
    free(processes->dead);
    processes->dead = NULL;
    processes->dead_count = 0;
    processes->at = NULL;
    processes->count = processes->room = 0;
}
