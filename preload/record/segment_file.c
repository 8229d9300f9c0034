/* SPDX-License-Identifier: Apache-2.0 */
#include "preload/record/segment_file.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "preload/record/atomic.h"
#include "preload/record/log.h"
#include "preload/record/memory.h"
#include "preload/record/sys.h"
#include "preload/record/text.h"
#include "proto/segment.h"

static char directory_path[sizeof SEGMENT_FILE_DIRECTORY + 20];
static char path[128];
static int successor;

const char *segment_file_directory(void) {
    return directory_path;
}

int segment_file_is_successor(void) {
    return successor;
}

static void tell(int ret) {
    log_error(LOG_WARN, "no view from outside: no file in ", directory_path, -ret);
}

/* The user's directory, made if it isn't there. Somebody else's, or one that others can write to, is not used: they could
 * have put it there. */
static int open_directory(uint32_t uid) {
    struct text t;
    struct stat st;
    text_init(&t, directory_path, sizeof directory_path);
    text_add(&t, SEGMENT_FILE_DIRECTORY);
    text_add_number(&t, uid);
    if (sys2(SYS_mkdir, directory_path, 0700) == 0)
        sys2(SYS_chmod, directory_path, 0700); /* whatever the umask */
    int fd = (int)sys_open(directory_path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0);
    if (fd < 0) {
        tell(fd);
        return fd;
    }
    if (sys2(SYS_fstat, fd, &st) == 0 && st.st_uid == uid && (st.st_mode & 077) == 0)
        return fd;
    sys_close(fd);
    log_line(LOG_WARN, "no view from outside: ", directory_path, " belongs to another user or is open to others");
    return -EPERM;
}

/* Segments of processes that were killed wait for `cprof recover`, but not in any number: of those that nobody has open the ones
 * beyond these bounds are removed when a new one is made, older ones first (tmpfs lists the newest first). */
#define DEAD_FILES 64
#define DEAD_BYTES (256ull << 20)
#define LISTING (16u << 10)

struct listed {
    uint64_t inode;
    int64_t offset;
    uint16_t size;
    uint8_t type;
    char name[];
};

/* Its process is gone, as far as this namespace of processes goes. */
static int seems_dead(const char *name) {
    uint64_t pid;
    return text_number(&name, &pid) && *name == '-' && sys2(SYS_kill, pid, 0) == -ESRCH;
}

static uint64_t bytes_of(int directory, const char *name) {
    struct stat st;
    return sys4(SYS_newfstatat, directory, name, &st, AT_SYMLINK_NOFOLLOW) < 0 ? 0 : (uint64_t)st.st_blocks * 512;
}

/* A lease for reading is refused while anybody has the file mapped for writing, in whichever namespace. */
static void remove_dead(int directory, const char *name) {
    int fd = (int)sys4(SYS_openat, directory, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC, 0);
    if (fd < 0)
        return;
    if (sys3(SYS_fcntl, fd, F_SETLEASE, F_RDLCK) == 0)
        sys3(SYS_unlinkat, directory, name, 0);
    sys_close(fd); /* ends the lease */
}

/* Every process that starts comes by here, so it makes no more system calls than it must: sizes are only asked for if
 * the whole file system holds too much, and nothing is if there are few files, living processes' included. */
static void remove_oldest(int directory) {
    char *listing = memory_map(LISTING);
    uint64_t files = 0, dead = 0, total = 0;
    struct statfs fs;
    long n;
    while (listing && (n = sys3(SYS_getdents64, directory, listing, LISTING)) > 0)
        for (long at = 0; at < n; at += ((struct listed *)(listing + at))->size)
            files += ((struct listed *)(listing + at))->name[0] != '.';
    int large = sys2(SYS_fstatfs, directory, &fs) < 0 ||
                (uint64_t)(fs.f_blocks - fs.f_bfree) * (uint64_t)fs.f_bsize > DEAD_BYTES;
    if ((large || files > DEAD_FILES) && sys3(SYS_lseek, directory, 0, SEEK_SET) == 0)
        while (listing && (n = sys3(SYS_getdents64, directory, listing, LISTING)) > 0)
            for (long at = 0; at < n; at += ((struct listed *)(listing + at))->size) {
                const char *name = ((struct listed *)(listing + at))->name;
                if (!seems_dead(name))
                    continue;
                total += large ? bytes_of(directory, name) : 0;
                if (++dead > DEAD_FILES || total > DEAD_BYTES)
                    remove_dead(directory, name);
            }
    if (listing)
        memory_unmap(listing, LISTING);
}

/* Left by a program that this process ran before, whose profile is complete. */
static int is_finished(int directory, const char *name) {
    uint32_t state = 0;
    int fd = (int)sys4(SYS_openat, directory, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC, 0);
    if (fd < 0)
        return 0;
    long n = sys4(SYS_pread64, fd, &state, sizeof state, offsetof(struct segment_header, state));
    sys_close(fd);
    return n == sizeof state && state == SEGMENT_WRITTEN;
}

static int create_in(int directory, uint32_t pid, uint64_t ticks) {
    for (uint64_t n = 0; n < 1000; n++) {
        size_t base = text_length(directory_path) + 1;
        struct text t;
        text_init(&t, path, sizeof path);
        text_add(&t, directory_path);
        text_add(&t, "/");
        text_add_number(&t, pid);
        text_add(&t, "-");
        text_add_number(&t, ticks);
        if (n) {
            text_add(&t, "-");
            text_add_number(&t, n);
        }
        text_add(&t, ".segment");
        int fd = (int)sys4(SYS_openat, directory, path + base, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        successor |= fd == -EEXIST;
        if (fd == -EEXIST && is_finished(directory, path + base)) {
            sys3(SYS_unlinkat, directory, path + base, 0);
            fd = (int)sys4(SYS_openat, directory, path + base, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        }
        if (fd != -EEXIST)
            return fd;
    }
    return -EEXIST;
}

/* Whatever the umask, its owner must be able to read it. */
static void make_readable(int fd) {
    struct stat st;
    if (sys2(SYS_fstat, fd, &st) == 0 && (st.st_mode & 0777) != 0600)
        sys2(SYS_fchmod, fd, 0600);
}

int segment_file_create(uint64_t size, uint32_t uid, uint32_t pid, uint64_t ticks) {
    int directory = open_directory(uid);
    if (directory < 0)
        return directory;
    remove_oldest(directory);
    int fd = create_in(directory, pid, ticks);
    sys_close(directory);
    if (fd < 0) {
        path[0] = 0;
        tell(fd);
        return fd;
    }
    make_readable(fd);
    int ret = (int)sys2(SYS_ftruncate, fd, size);
    if (ret < 0) {
        sys_close(fd);
        segment_file_remove();
        tell(ret);
        return ret;
    }
    return fd;
}

void segment_file_remove(void) {
    if (path[0])
        sys1(SYS_unlink, path);
    path[0] = 0;
}

void segment_file_disown(void) {
    path[0] = 0;
    successor = 0;
}
