/* SPDX-License-Identifier: Apache-2.0 */
/* How: the whole file is read, unzipped and unpacked in turn, each step within its limit. protobuf-c allocates as much
 * as the content tells it to, hence the budget below: a forged megabyte can't become a terabyte. */
#include "proto/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <zlib.h>

struct bytes {
    unsigned char *at;
    size_t len;
    size_t capacity;
};

__attribute__((format(printf, 2, 3))) static void fail(struct prof_error *error, const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(error->text, sizeof error->text, format, args);
    va_end(args);
}

/* Makes room for more bytes, doubling, up to one more than `max`: so that too much can be told from just enough. */
static bool make_room(struct bytes *bytes, uint64_t max) {
    if (bytes->len < bytes->capacity)
        return true;
    uint64_t capacity = bytes->capacity < 32768 ? 65536 : 2 * (uint64_t)bytes->capacity;
    if (capacity > max)
        capacity = max + 1;
    void *at = capacity < SIZE_MAX ? realloc(bytes->at, (size_t)capacity) : NULL;
    if (!at)
        return false;
    bytes->at = at;
    bytes->capacity = (size_t)capacity;
    return true;
}

/* ---- gzip ---- */

static bool too_large(const struct bytes *bytes, uint64_t max, struct prof_error *error) {
    if (bytes->len <= max)
        return false;
    fail(error, "larger than %llu bytes", (unsigned long long)max);
    return true;
}

/* Inflates all members. `in` is not empty. */
static bool inflate_members(z_stream *z, const unsigned char *in, size_t len, uint64_t max, struct bytes *out,
                            struct prof_error *error) {
    int rc = Z_OK;
    for (;;) {
        if (z->avail_in == 0) {
            uInt step = len < UINT_MAX ? (uInt)len : UINT_MAX;
            z->next_in = (Bytef *)(uintptr_t)in;
            z->avail_in = step;
            in += step;
            len -= step;
        }
        /* Members follow each other without a mark; what follows the last must be another, or nothing. */
        if (rc == Z_STREAM_END) {
            if (z->avail_in == 0)
                return true;
            inflateReset(z);
        }
        if (!make_room(out, max)) {
            fail(error, "out of memory");
            return false;
        }
        size_t room = out->capacity - out->len;
        uInt step = room < UINT_MAX ? (uInt)room : UINT_MAX;
        z->next_out = out->at + out->len;
        z->avail_out = step;
        rc = inflate(z, Z_NO_FLUSH);
        out->len += step - z->avail_out;
        if (too_large(out, max, error))
            return false;
        if (rc == Z_BUF_ERROR || (rc == Z_OK && z->avail_in == 0 && len == 0 && z->avail_out > 0)) {
            fail(error, "the gzip data are cut off");
            return false;
        }
        if (rc != Z_OK && rc != Z_STREAM_END) {
            fail(error, "the gzip data are damaged: %s", z->msg ? z->msg : zError(rc));
            return false;
        }
    }
}

static bool gunzip(const unsigned char *in, size_t len, uint64_t max, struct bytes *out, struct prof_error *error) {
    z_stream z = {0};
    if (inflateInit2(&z, 15 + 16) != Z_OK) {
        fail(error, "out of memory");
        return false;
    }
    bool good = inflate_members(&z, in, len, max, out, error);
    inflateEnd(&z);
    return good;
}

/* ---- protobuf ---- */

/* Memory for one profile. It only counts what is asked for: what protobuf-c gives back early is little. */
struct budget {
    uint64_t left;
    bool exhausted;
};

static void *budget_alloc(void *ctx, size_t size) {
    struct budget *budget = ctx;
    /* The C library's own cost of a block counts, or millions of tiny ones would be free. */
    if (size > SIZE_MAX - 16 || size + 16 > budget->left) {
        budget->exhausted = true;
        return NULL;
    }
    budget->left -= size + 16;
    return malloc(size);
}

static void budget_free(void *ctx, void *block) {
    (void)ctx;
    free(block);
}

static ProfProfile *unpack(const unsigned char *bytes, size_t len, uint64_t max, struct prof_error *error) {
    uint64_t most = max < UINT64_MAX / READER_EXPANSION_OF_LIMIT ? max * READER_EXPANSION_OF_LIMIT : UINT64_MAX;
    struct budget budget = {.left = (uint64_t)len * READER_EXPANSION};
    if (budget.left > most)
        budget.left = most;
    budget.left += 1u << 20; /* what every profile takes */
    ProtobufCAllocator allocator = {.alloc = budget_alloc, .free = budget_free, .allocator_data = &budget};

    if (len == 0) {
        fail(error, "empty");
        return NULL;
    }
    ProfProfile *profile = perftools__profiles__profile__unpack(&allocator, len, bytes);
    if (!profile && budget.exhausted)
        fail(error, "a profile that takes too much memory for its size");
    else if (!profile)
        fail(error, "not a pprof profile");
    return profile;
}

ProfProfile *profile_read_bytes(const void *bytes, size_t len, uint64_t max_bytes, struct prof_error *error) {
    const unsigned char *in = bytes;
    uint64_t max = max_bytes > 0 ? max_bytes : READER_MAX_BYTES;

    error->text[0] = '\0';
    /* gzip's magic number; no message can begin like that, as 0x1f has no valid wire type. */
    if (len < 2 || in[0] != 0x1f || in[1] != 0x8b) {
        if (len > max) {
            fail(error, "larger than %llu bytes", (unsigned long long)max);
            return NULL;
        }
        return unpack(in, len, max, error);
    }
    struct bytes content = {0};
    ProfProfile *profile = NULL;
    if (gunzip(in, len, max, &content, error))
        profile = unpack(content.at, content.len, max, error);
    free(content.at);
    return profile;
}

/* ---- Files ---- */

static bool read_all(int fd, uint64_t max, struct bytes *out, struct prof_error *error) {
    for (;;) {
        if (!make_room(out, max)) {
            fail(error, "out of memory");
            return false;
        }
        ssize_t n = read(fd, out->at + out->len, out->capacity - out->len);
        if (n == 0)
            return true;
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            fail(error, "%s", strerror(errno));
            return false;
        }
        out->len += (size_t)n;
        if (too_large(out, max, error))
            return false;
    }
}

ProfProfile *profile_read(const char *path, uint64_t max_bytes, struct prof_error *error) {
    error->text[0] = '\0';
    bool from_stdin = strcmp(path, "-") == 0;
    int fd = from_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        fail(error, "%s", strerror(errno));
        return NULL;
    }
    struct bytes file = {0};
    ProfProfile *profile = NULL;
    if (read_all(fd, max_bytes > 0 ? max_bytes : READER_MAX_BYTES, &file, error))
        profile = profile_read_bytes(file.at, file.len, max_bytes, error);
    free(file.at);
    if (!from_stdin)
        close(fd);
    return profile;
}

void profile_free(ProfProfile *profile) {
    if (profile)
        perftools__profiles__profile__free_unpacked(profile, NULL);
}
