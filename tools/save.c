/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/save.h"

#include "tools/load.h"
#include "tools/tool.h"

#include "proto/gzip.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* As the library writes them: what a higher level saves is not worth its time. */
#define LEVEL 1

static void *allocate(void *ctx, size_t size) {
    (void)ctx;
    return malloc(size);
}

static void release(void *ctx, void *block) {
    (void)ctx;
    free(block);
}

const struct prof_memory heap_memory = {.alloc = allocate, .free = release};

int save_bytes(int fd, const void *bytes, size_t len) {
    const char *at = bytes;
    while (len > 0) {
        ssize_t n = write(fd, at, len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? -errno : -EIO;
        at += n;
        len -= (size_t)n;
    }
    return 0;
}

static int write_all(void *ctx, const void *bytes, size_t len) {
    return save_bytes(*(const int *)ctx, bytes, len);
}

/* protobuf-c appends some bytes at a time; zlib wants more of them. */
struct packing {
    ProtobufCBuffer base;
    struct gzip gzip;
    int error;
    size_t len;
    uint8_t bytes[32768];
};

static void flush(struct packing *packing) {
    if (packing->error == 0 && packing->len > 0)
        packing->error = gzip_write(&packing->gzip, packing->bytes, packing->len);
    packing->len = 0;
}

static void append(ProtobufCBuffer *buffer, size_t len, const uint8_t *bytes) {
    struct packing *packing = (struct packing *)buffer;
    while (len > 0) {
        size_t room = sizeof packing->bytes - packing->len;
        size_t step = len < room ? len : room;
        memcpy(packing->bytes + packing->len, bytes, step);
        packing->len += step;
        bytes += step;
        len -= step;
        if (packing->len == sizeof packing->bytes)
            flush(packing);
    }
}

int pack_profile(const ProfProfile *profile, const void *more, size_t len, const struct prof_sink *sink) {
    struct packing *packing = malloc(sizeof *packing);
    if (!packing)
        return -ENOMEM;
    packing->base.append = append;
    packing->len = 0;
    packing->error = gzip_open(&packing->gzip, &heap_memory, sink, LEVEL, false);
    if (packing->error == 0) {
        protobuf_c_message_pack_to_buffer(&profile->base, &packing->base);
        flush(packing);
        if (packing->error == 0 && len > 0)
            packing->error = gzip_write(&packing->gzip, more, len);
        if (packing->error == 0)
            packing->error = gzip_finish(&packing->gzip);
        gzip_close(&packing->gzip);
    }
    int error = packing->error;
    free(packing);
    return error;
}

static int write_profile(const void *what, int fd) {
    struct prof_sink sink = {.write = write_all, .ctx = &fd};
    return pack_profile(what, NULL, 0, &sink);
}

/* A new file is as open to others as the umask says, one that takes an old one's place as open as that was. */
static void set_mode(int fd, const char *path) {
    struct stat old;
    mode_t mask = umask(0);
    umask(mask);
    bool exists = stat(path, &old) == 0;
    if (exists && geteuid() == 0 && fchown(fd, old.st_uid, old.st_gid) != 0)
        return; /* mode 0600 stays: better too few than too many may read it */
    fchmod(fd, exists ? old.st_mode & 07777 : 0666 & ~mask);
}

static int replace(const char *path, int (*put)(const void *what, int fd), const void *what) {
    char *temporary = NULL;
    if (asprintf(&temporary, "%s.XXXXXX", path) < 0)
        return -ENOMEM;
    int fd = mkostemp(temporary, O_CLOEXEC);
    int rc = fd < 0 ? -errno : put(what, fd);
    if (fd >= 0) {
        if (rc == 0)
            set_mode(fd, path);
        if (close(fd) != 0 && rc == 0)
            rc = -errno;
        if (rc == 0 && rename(temporary, path) != 0)
            rc = -errno;
        if (rc != 0)
            unlink(temporary);
    }
    free(temporary);
    return rc;
}

int save_file(const char *path, int (*put)(const void *what, int fd), const void *what) {
    struct stat status;
    int rc;
    /* A limit on the size of files is an error like others, and the temporary file must go. */
    signal(SIGXFSZ, SIG_IGN);
    if (strcmp(path, "-") == 0) {
        fflush(stdout);
        rc = put(what, STDOUT_FILENO);
        path = "standard output";
    } else if (stat(path, &status) == 0 && !S_ISREG(status.st_mode)) {
        /* A pipe or a device: nothing that could be replaced. */
        int fd = open(path, O_WRONLY | O_CLOEXEC);
        rc = fd < 0 ? -errno : put(what, fd);
        if (fd >= 0 && close(fd) != 0 && rc == 0)
            rc = -errno;
    } else {
        char *real = realpath(path, NULL);
        rc = replace(real ? real : path, put, what);
        free(real);
    }
    if (rc != 0)
        tool_error(path, "%s", strerror(-rc));
    return rc == 0 ? EXIT_OK : rc == -ENOMEM ? EXIT_SYSTEM : EXIT_OUTPUT;
}

int save_profile(const ProfProfile *profile, const char *path) {
    return save_file(path, write_profile, profile);
}
