/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/segment_profile.h"

#include "tools/load.h"
#include "tools/save.h"
#include "tools/symbolize.h"
#include "tools/tool.h"

#include "proto/encode.h"
#include "proto/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define SUFFIX ".pb.gz"

uint64_t segment_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* ---- In memory ---- */

/* What the encoder has been given; it stands in front of the memory. If the file is cut off under it, the encoder is
 * left as it is (segment_guard), and this is all that knows of its memory. */
struct block {
    struct block *next, **link;
};

_Static_assert(sizeof(struct block) % _Alignof(max_align_t) == 0, "what is behind it is aligned as malloc aligns");

struct encoding {
    const struct segment_file *file;
    struct encode_options options;
    struct segment_bytes *bytes;
    size_t room;
    struct block *blocks;
};

static void *allocate(void *ctx, size_t size) {
    struct encoding *encoding = ctx;
    struct block *block = size <= SIZE_MAX - sizeof *block ? malloc(sizeof *block + size) : NULL;
    if (!block)
        return NULL;
    *block = (struct block){.next = encoding->blocks, .link = &encoding->blocks};
    if (block->next)
        block->next->link = &block->next;
    encoding->blocks = block;
    return block + 1;
}

static void release(void *ctx, void *memory) {
    struct block *block = (struct block *)memory - 1;
    (void)ctx;
    *block->link = block->next;
    if (block->next)
        block->next->link = block->link;
    free(block);
}

static int append(void *ctx, const void *bytes, size_t len) {
    struct encoding *encoding = ctx;
    struct segment_bytes *out = encoding->bytes;
    if (len > encoding->room - out->len) {
        size_t room = encoding->room * 2 > out->len + len ? encoding->room * 2 : out->len + len;
        unsigned char *more = realloc(out->at, room);
        if (!more)
            return -ENOMEM;
        out->at = more;
        encoding->room = room;
    }
    memcpy(out->at + out->len, bytes, len);
    out->len += len;
    return 0;
}

static int encode(void *ctx) {
    struct encoding *encoding = ctx;
    struct prof_memory memory = {.alloc = allocate, .free = release, .ctx = encoding};
    struct prof_sink sink = {.write = append, .ctx = encoding};
    int rc = -EAGAIN;
    /* The peak can be replaced in between. */
    for (int i = 0; i < 16 && rc == -EAGAIN; i++) {
        encoding->bytes->len = 0;
        rc = profile_encode(&encoding->file->view, &encoding->options, &memory, &sink);
    }
    return rc;
}

int segment_encode(const struct segment_file *file, const struct encode_options *options, struct segment_bytes *bytes) {
    struct encoding encoding = {.file = file, .options = *options, .bytes = bytes, .room = 65536};
    encoding.options.partial = file->view.header.private_memory != 0;
    *bytes = (struct segment_bytes){.at = malloc(encoding.room)};
    int rc = bytes->at ? segment_guard(encode, &encoding) : -ENOMEM;
    while (encoding.blocks)
        release(&encoding, encoding.blocks + 1);
    if (rc != 0) {
        free(bytes->at);
        bytes->at = NULL;
    }
    return rc;
}

/* ---- Names ---- */

char *segment_name_insert(const char *path, const char *word) {
    size_t len = strlen(path), suffix = strlen(SUFFIX);
    char *name;
    bool has = len > suffix && strcmp(path + len - suffix, SUFFIX) == 0;
    if (asprintf(&name, "%.*s.%s%s", (int)(has ? len - suffix : len), path, word, has ? SUFFIX : "") < 0)
        return NULL;
    return name;
}

static uint64_t modified(const struct stat *st) {
    return (uint64_t)st->st_mtim.tv_sec * 1000000000u + (uint64_t)st->st_mtim.tv_nsec;
}

/* Written by the process while it was another program. */
static bool is_predecessors(const char *path, const struct segment_output *output) {
    struct stat st;
    return lstat(path, &st) == 0 && S_ISREG(st.st_mode) && modified(&st) >= output->since_ns &&
           modified(&st) < output->program_ns;
}

/* What is there is not ours to replace. */
static bool must_stay(const char *path, uint64_t since_ns) {
    unsigned char magic[2] = {0};
    struct stat st;
    if (lstat(path, &st) != 0)
        return false;
    if (!S_ISREG(st.st_mode) || modified(&st) >= since_ns)
        return true;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    ssize_t n = fd < 0 ? -1 : read(fd, magic, sizeof magic);
    if (fd >= 0)
        close(fd);
    return n != 0 && (n != 2 || magic[0] != 0x1f || magic[1] != 0x8b);
}

/* Gives the file a name that is free; rename alone would replace what appeared there this moment. */
static int put_new(const char *temporary, const char *path) {
    struct stat st;
    if (renameat2(AT_FDCWD, temporary, AT_FDCWD, path, RENAME_NOREPLACE) == 0)
        return 0;
    if (errno == EEXIST)
        return -EEXIST;
    if (link(temporary, path) == 0) {
        unlink(temporary);
        return 0;
    }
    if (errno == EEXIST)
        return -EEXIST;
    /* A file system that can do neither. */
    if (lstat(path, &st) == 0)
        return -EEXIST;
    return rename(temporary, path) == 0 ? 0 : -errno;
}

static int put_beside(const char *temporary, const char *path, char **placed) {
    int rc = -EEXIST;
    for (unsigned n = 2; n < 10000 && rc == -EEXIST; n++) {
        char word[16];
        snprintf(word, sizeof word, "%u", n);
        char *name = segment_name_insert(path, word);
        if (!name)
            return -ENOMEM;
        rc = put_new(temporary, name);
        if (rc == 0)
            *placed = name;
        else
            free(name);
    }
    return rc;
}

static int place(const char *temporary, const char *path, const struct segment_output *output, char **placed) {
    int rc = -EEXIST;
    if (output->placing == SEGMENT_BESIDE) {
        char *moved = NULL;
        if (is_predecessors(path, output))
            put_beside(path, path, &moved);
        free(moved);
        rc = put_new(temporary, path);
        if (rc == -EEXIST && must_stay(path, output->since_ns))
            return put_beside(temporary, path, placed);
    }
    if (rc == -EEXIST)
        rc = rename(temporary, path) == 0 ? 0 : -errno;
    *placed = rc == 0 ? strdup(path) : NULL;
    return rc != 0 || *placed ? rc : -ENOMEM;
}

/* ---- In files ---- */

static int write_to(const char *path, const struct segment_bytes *bytes, int flags) {
    int fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY | flags, 0666);
    if (fd < 0)
        return -errno;
    int rc = save_bytes(fd, bytes->at, bytes->len);
    if (close(fd) != 0 && rc == 0)
        rc = -errno;
    return rc;
}

/* Adds the names. The profile without them stands if that can't be done. */
static void add_names(struct segment_bytes *bytes, pid_t process, const char *path) {
    struct symbolize_options options = {.style = DEMANGLE_SIMPLE, .process = process};
    struct symbolize_result result;
    struct prof_error error;
    const char *reason;
    ProfProfile *profile = profile_read_bytes(bytes->at, bytes->len, 0, &error);
    if (profile && load_settle(profile, &reason) && symbolize_profile(profile, &options, &result) == 0 &&
        result.changed)
        save_profile(profile, path);
    profile_free(profile);
}

static int write_file(struct segment_bytes *bytes, pid_t process, const struct segment_output *output, const char *path,
                      char **placed) {
    struct stat st;
    char *temporary;
    const char *name = strrchr(path, '/');
    if (stat(path, &st) == 0 && !S_ISREG(st.st_mode)) {
        *placed = strdup(path);
        return S_ISDIR(st.st_mode) ? -EISDIR : !*placed ? -ENOMEM : write_to(path, bytes, O_NONBLOCK);
    }
    name = name ? name + 1 : path;
    if (asprintf(&temporary, "%.*s.cprof-%d.tmp", (int)(name - path), path, (int)getpid()) < 0)
        return -ENOMEM;
    unlink(temporary);
    int rc = write_to(temporary, bytes, O_CREAT | O_EXCL | O_NOFOLLOW);
    if (rc == 0 && output->symbolize)
        add_names(bytes, process, temporary);
    if (rc == 0)
        rc = place(temporary, path, output, placed);
    if (rc != 0)
        unlink(temporary);
    free(temporary);
    return rc;
}

static int write_stdout(struct segment_bytes *bytes, pid_t process, const struct segment_output *output) {
    if (output->symbolize) {
        struct symbolize_options options = {.style = DEMANGLE_SIMPLE, .process = process};
        struct symbolize_result result;
        struct prof_error error;
        const char *reason;
        ProfProfile *profile = profile_read_bytes(bytes->at, bytes->len, 0, &error);
        bool named = profile && load_settle(profile, &reason) && symbolize_profile(profile, &options, &result) == 0;
        int code = named ? save_profile(profile, "-") : EXIT_OK;
        profile_free(profile);
        if (named)
            return code;
    }
    fflush(stdout);
    int rc = save_bytes(STDOUT_FILENO, bytes->at, bytes->len);
    if (rc != 0)
        tool_error("standard output", "%s", strerror(-rc));
    return rc == 0 ? EXIT_OK : EXIT_OUTPUT;
}

int segment_write_profile(const struct segment_file *file, const struct segment_output *output, const char *path,
                          char **placed) {
    struct segment_bytes bytes;
    *placed = NULL;
    struct encode_options options = {.now_mono_ns = output->now_mono_ns, .peak = output->peak};
    save_outlive_limits();
    int rc = segment_encode(file, &options, &bytes);
    if (rc != 0) {
        tool_error(file->path, "%s",
                   rc == -EFAULT   ? "cut off"
                   : rc == -EAGAIN ? "the peak keeps changing"
                                   : strerror(-rc));
        return rc == -ENOMEM ? EXIT_SYSTEM : EXIT_INPUT;
    }
    int code = EXIT_OK;
    pid_t process = file->life != SEGMENT_DEAD ? file->process : 0;
    if (strcmp(path, "-") == 0) {
        code = write_stdout(&bytes, process, output);
        *placed = strdup("standard output");
    } else {
        /* Of a link it is what it points to that is replaced: /dev/stdout is one. */
        char *real = output->placing == SEGMENT_REPLACE ? realpath(path, NULL) : NULL;
        rc = write_file(&bytes, process, output, real ? real : path, placed);
        if (rc == 0 && real) {
            free(*placed);
            *placed = strdup(path);
            rc = *placed ? 0 : -ENOMEM;
        }
        free(real);
        if (rc != 0) {
            if (output->failed)
                output->failed(output->ctx, file, path, strerror(-rc));
            else
                tool_error(path, "%s", strerror(-rc));
            code = rc == -ENOMEM ? EXIT_SYSTEM : EXIT_OUTPUT;
        }
    }
    if (code != EXIT_OK) {
        free(*placed);
        *placed = NULL;
    }
    free(bytes.at);
    return code;
}
