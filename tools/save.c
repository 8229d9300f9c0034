/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/save.h"

#include "tools/load.h"
#include "tools/tool.h"

#include <errno.h>
#include <fcntl.h>
#include <libdeflate.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What a higher level saves is not worth its time. At this one libdeflate makes less of a profile than zlib does, in half
 * the time. */
#define LEVEL 1

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

static int send_gzip(const void *bytes, size_t len, const struct prof_sink *sink) {
    struct libdeflate_compressor *compressor = libdeflate_alloc_compressor(LEVEL);
    size_t room = libdeflate_gzip_compress_bound(compressor, len);
    void *packed = compressor ? malloc(room) : NULL;
    size_t packed_len = packed ? libdeflate_gzip_compress(compressor, bytes, len, packed, room) : 0;
    int rc = packed_len > 0 ? sink->write(sink->ctx, packed, packed_len) : -ENOMEM;
    free(packed);
    libdeflate_free_compressor(compressor);
    return rc;
}

int pack_profile(const ProfProfile *profile, const void *more, size_t len, const struct prof_sink *sink) {
    size_t own = protobuf_c_message_get_packed_size(&profile->base);
    uint8_t *bytes = malloc(own + len + 1);
    if (!bytes)
        return -ENOMEM;
    protobuf_c_message_pack(&profile->base, bytes);
    if (len > 0)
        memcpy(bytes + own, more, len);
    int rc = send_gzip(bytes, own + len, sink);
    free(bytes);
    return rc;
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

void save_outlive_limits(void) {
    signal(SIGXFSZ, SIG_IGN);
}

bool save_replaces(const char *path, const char *input) {
    struct stat output, read;
    if (strcmp(path, "-") == 0 || strcmp(input, "-") == 0 || stat(path, &output) != 0 || stat(input, &read) != 0 ||
        !S_ISREG(output.st_mode) || output.st_dev != read.st_dev || output.st_ino != read.st_ino)
        return false;
    tool_error(path, "is what is read, and would be replaced; name another output");
    return true;
}

int save_file(const char *path, int (*put)(const void *what, int fd), const void *what) {
    struct stat status;
    int rc;
    save_outlive_limits();
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
