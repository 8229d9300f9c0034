/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/recover.h"

#include "tools/segment_profile.h"
#include "tools/segment_totals.h"
#include "tools/tool.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Where the profile goes: for free(), or NULL after a message. */
static char *output_name(const struct segment_file *file, const char *output) {
    char out[8192];
    struct stat st;
    char *name = NULL;
    bool known = segment_out(file, out, sizeof out) > 0;
    bool directory = output && stat(output, &st) == 0 && S_ISDIR(st.st_mode);
    if (output && !directory)
        return strdup(output);
    if (!directory && (!known || out[0] != '/')) {
        tool_error(file->path, "says no name for its profile; give one with -o");
        return NULL;
    }
    const char *base = strrchr(out, '/');
    base = base ? base + 1 : out;
    if (!directory)
        return strdup(out);
    int len = (int)strlen(output);
    while (len > 0 && output[len - 1] == '/')
        len--;
    int rc = known && base[0] ? asprintf(&name, "%.*s/%s", len, output, base)
                              : asprintf(&name, "%.*s/cprof.%u.pb.gz", len, output, file->pid);
    return rc < 0 ? NULL : name;
}

/* What the process had begun to write when it was killed. Its number may be another one's by now. */
static void remove_temporaries(const struct segment_file *file, const char *name) {
    char prefix[64];
    const char *base = strrchr(name, '/');
    if (!base || process_start_ticks((pid_t)file->pid) != 0)
        return;
    char *directory = strndup(name, (size_t)(base - name) + 1);
    DIR *stream = directory ? opendir(directory) : NULL;
    snprintf(prefix, sizeof prefix, ".cprof-%u-", file->pid);
    for (const struct dirent *entry; stream && (entry = readdir(stream));) {
        const char *at = entry->d_name + strlen(prefix);
        struct stat st;
        if (strncmp(entry->d_name, prefix, strlen(prefix)) == 0 && strspn(at, "0123456789") > 0 &&
            strcmp(at + strspn(at, "0123456789"), ".tmp") == 0 &&
            fstatat(dirfd(stream), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode) &&
            st.st_uid == geteuid())
            unlinkat(dirfd(stream), entry->d_name, 0);
    }
    if (stream)
        closedir(stream);
    free(directory);
}

static bool has_peak(const struct segment_file *file) {
    return file->view.used[SEGMENT_PEAK] > SEGMENT_BUCKET_FIRST;
}

static int write_one(const struct segment_file *file, const struct recover_options *options, const char *name,
                     bool peak) {
    struct segment_output how = {
        .placing = options->output ? SEGMENT_REPLACE : SEGMENT_BESIDE,
        .since_ns = segment_process_start(file),
        .program_ns = file->view.header.start_wall_ns,
        .symbolize = options->symbolize,
        .now_mono_ns = options->ended_mono_ns,
        .peak = peak,
        .failed = options->failed,
        .ctx = options->ctx,
    };
    struct stat st;
    char *placed;
    /* What several processes are given, or what they call theirs in one directory, may be the same name. */
    if (options->output && (options->numbered || (stat(options->output, &st) == 0 && S_ISDIR(st.st_mode)))) {
        how.placing = SEGMENT_BESIDE;
        how.since_ns = how.program_ns = 0;
    }
    int code = segment_write_profile(file, &how, name, &placed);
    if (code == EXIT_OK && options->placed)
        options->placed(options->ctx, file, placed);
    free(placed);
    return code;
}

static int write_profiles(const struct segment_file *file, const struct recover_options *options) {
    char *name = output_name(file, options->output);
    if (!name)
        return EXIT_INPUT;
    if (file->view.header.private_memory)
        tool_error(file->path, "incomplete: /dev/shm was full, part of the records was in the process alone");
    int code = write_one(file, options, name, false);
    if (code == EXIT_OK && has_peak(file) && strcmp(name, "-") != 0) {
        char *beside = segment_name_insert(name, "peak");
        code = beside ? write_one(file, options, beside, true) : EXIT_SYSTEM;
        free(beside);
    }
    if (code == EXIT_OK)
        remove_temporaries(file, name);
    free(name);
    return code;
}

bool recover_is_empty(const struct segment_file *file) {
    return file->unfinished || (file->view.header.out == 0 && file->view.used[SEGMENT_BUCKETS] <= SEGMENT_BUCKET_FIRST);
}

unsigned recover_profiles(const struct segment_file *file) {
    if (recover_is_empty(file) || file->view.header.state == SEGMENT_WRITTEN)
        return 0;
    return has_peak(file) ? 2 : 1;
}

int recover_segment(struct segment_file *file, const struct recover_options *options) {
    int code = EXIT_OK;
    if (!segment_lock(file)) {
        tool_error(file->path, "another cprof is recovering it");
        return EXIT_PROCESS;
    }
    if (!options->discard && recover_profiles(file) > 0)
        code = write_profiles(file, options);
    if (code != EXIT_OK || options->keep)
        return code;
    int rc = segment_remove(file);
    if (rc != 0 && rc != -ENOENT) {
        tool_error(file->path, "can't be removed: %s", strerror(-rc));
        return EXIT_OUTPUT;
    }
    return EXIT_OK;
}
