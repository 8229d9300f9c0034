/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/segments.h"

#include "preload/record/segment_file.h"
#include "tools/segment_life.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

void segment_directory(uid_t uid, char path[SEGMENT_PATH_MAX]) {
    snprintf(path, SEGMENT_PATH_MAX, SEGMENT_FILE_DIRECTORY "%u", (unsigned)uid);
}

/* PID-TICKS[-N].segment */
static bool parse_name(const char *path, uint32_t *pid, uint64_t *ticks, unsigned *number) {
    const char *name = strrchr(path, '/');
    int end = 0;
    name = name ? name + 1 : path;
    *number = 0;
    if (sscanf(name, "%9" SCNu32 "-%19" SCNu64 "%n", pid, ticks, &end) != 2 || end == 0)
        return false;
    name += end;
    if (name[0] == '-' && (sscanf(name, "-%4u%n", number, &end) != 1 || *(name += end) == '\0'))
        return false;
    return strcmp(name, ".segment") == 0;
}

/* ---- Lists ---- */

static int compare_names(const void *left, const void *right) {
    const char *const *a = left, *const *b = right;
    uint32_t pid[2];
    uint64_t ticks[2];
    unsigned number[2];
    parse_name(*a, &pid[0], &ticks[0], &number[0]);
    parse_name(*b, &pid[1], &ticks[1], &number[1]);
    if (ticks[0] != ticks[1])
        return ticks[0] < ticks[1] ? -1 : 1;
    if (pid[0] != pid[1])
        return pid[0] < pid[1] ? -1 : 1;
    return number[0] < number[1] ? -1 : number[0] > number[1];
}

/* Paths of the segments in a directory of the user, sorted. Returns their number or a negative errno. */
static ssize_t list(const char *directory, uid_t uid, char ***paths) {
    struct stat st;
    size_t count = 0;
    int fd = open(directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    *paths = NULL;
    if (fd < 0)
        return errno == ENOENT ? 0 : -errno;
    if (fstat(fd, &st) != 0 || st.st_uid != uid || (st.st_mode & 077) != 0) {
        close(fd);
        return -EPERM;
    }
    DIR *stream = fdopendir(fd);
    if (!stream) {
        close(fd);
        return -ENOMEM;
    }
    for (const struct dirent *entry; (entry = readdir(stream));) {
        uint32_t pid;
        uint64_t ticks;
        unsigned number;
        if (!parse_name(entry->d_name, &pid, &ticks, &number))
            continue;
        if (count % 64 == 0) {
            char **more = realloc(*paths, (count + 64) * sizeof **paths);
            if (!more)
                break;
            *paths = more;
        }
        if (asprintf(&(*paths)[count], "%s/%s", directory, entry->d_name) < 0)
            break;
        count++;
    }
    closedir(stream);
    if (count > 0)
        qsort(*paths, count, sizeof **paths, compare_names);
    return (ssize_t)count;
}

static void release(char **paths, ssize_t count) {
    for (ssize_t i = 0; i < count; i++)
        free(paths[i]);
    free(paths);
}

int segments_each(uid_t uid, int (*each)(void *ctx, const char *path), void *ctx) {
    char directory[SEGMENT_PATH_MAX];
    char **paths;
    int rc = 0;
    segment_directory(uid, directory);
    ssize_t count = list(directory, uid, &paths);
    if (count < 0)
        return (int)count;
    for (ssize_t i = 0; i < count && rc == 0; i++)
        rc = each(ctx, paths[i]);
    release(paths, count);
    return rc;
}

/* ---- One segment ---- */

static sigjmp_buf guard_exit;

static void on_bus_error(int number) {
    (void)number;
    siglongjmp(guard_exit, 1);
}

int segment_guard(int (*fn)(void *ctx), void *ctx) {
    struct sigaction action = {.sa_handler = on_bus_error}, before;
    volatile int rc = -EFAULT;
    sigaction(SIGBUS, &action, &before);
    if (sigsetjmp(guard_exit, 1) == 0)
        rc = fn(ctx);
    sigaction(SIGBUS, &before, NULL);
    return rc;
}

/* Bytes that the header says are in use. */
static uint64_t used_bytes(const struct segment_header *header) {
    uint64_t sum = SEGMENT_PAGE;
    for (unsigned r = 0; r < SEGMENT_REGIONS; r++) {
        const struct segment_extent *extent = &header->region[r];
        uint64_t used = extent->used < extent->capacity ? extent->used : extent->capacity;
        uint64_t bytes;
        if (__builtin_mul_overflow(used, extent->entry_size, &bytes) || __builtin_add_overflow(sum, bytes, &sum))
            return UINT64_MAX;
    }
    for (unsigned s = 0; s < SEGMENT_SHARDS; s++)
        sum += header->shard_buckets[s] * sizeof(struct segment_count);
    return sum;
}

/* The data of the file, and zeros where it has holes, which are not asked of the file system. */
static void *map_data(int fd, size_t len) {
    char *base = mmap(NULL, len, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED)
        return base;
    for (off_t at = 0, end; (at = lseek(fd, at, SEEK_DATA)) >= 0 && (size_t)at < len; at = end) {
        end = lseek(fd, at, SEEK_HOLE);
        size_t data = end < 0 || (size_t)end > len ? len - (size_t)at : (size_t)(end - at);
        if (end < 0 || mmap(base + at, data, PROT_READ, MAP_SHARED | MAP_FIXED, fd, at) == MAP_FAILED) {
            munmap(base, len);
            return MAP_FAILED;
        }
    }
    return base;
}

static int open_view(void *ctx) {
    struct segment_file *file = ctx;
    return segment_view_open(&file->view, file->base, file->len);
}

static int unmap(struct segment_file *file, int error) {
    if (file->base)
        munmap(file->base, file->len);
    file->base = NULL;
    return error;
}

/* A process that is killed at its start, or a child at its fork, leaves a file that says nothing, or what its parent
 * is. */
static bool is_unfinished(const struct segment_file *file, const struct segment_header *header) {
    if (!file->named)
        return header->state == SEGMENT_STARTING;
    return header->magic == 0 || header->state == SEGMENT_STARTING ||
           (header->magic == SEGMENT_MAGIC && (header->pid != file->pid || header->start_ticks != file->ticks));
}

static int map(struct segment_file *file, const char **reason) {
    union {
        struct segment_header header;
        unsigned char page[SEGMENT_PAGE];
    } first = {0};
    struct stat st;
    ssize_t n = pread(file->fd, &first, sizeof first, 0);
    if (n < 0 || fstat(file->fd, &st) != 0) {
        int error = errno;
        *reason = strerror(error);
        return -error;
    }
    file->unfinished = is_unfinished(file, &first.header) && (n > 0 || file->named);
    if (file->unfinished) {
        file->view.header = first.header;
        return 0;
    }
    int rc = segment_view_open(&file->view, &first, (size_t)n);
    /* The regions are looked at once it is mapped. */
    if (rc != 0 && !(rc == -ENODATA && n == (ssize_t)sizeof first && first.header.size <= (uint64_t)st.st_size)) {
        *reason = file->view.reason;
        return rc;
    }
    bool covered = !first.header.private_memory && used_bytes(&first.header) <= (uint64_t)st.st_blocks * 512;
    file->len = first.header.size;
    file->base = covered ? mmap(NULL, file->len, PROT_READ, MAP_SHARED | MAP_NORESERVE, file->fd, 0)
                         : map_data(file->fd, file->len);
    if (file->base == MAP_FAILED) {
        file->base = NULL;
        *reason = "can't be mapped";
        return -ENOMEM;
    }
    rc = segment_guard(open_view, file);
    if (rc != 0)
        *reason = rc == -EFAULT ? "cut off" : file->view.reason;
    return rc == 0 ? 0 : unmap(file, rc);
}

int segment_open(struct segment_file *file, const char *path, uid_t uid, const char **reason) {
    struct stat st;
    unsigned number;
    memset(file, 0, sizeof *file);
    if (strlen(path) >= sizeof file->path) {
        *reason = strerror(ENAMETOOLONG);
        return file->fd = -1, -ENAMETOOLONG;
    }
    strcpy(file->path, path);
    /* Not waiting for whoever writes to a pipe of that name. */
    file->fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    int rc = file->fd < 0 || fstat(file->fd, &st) != 0 ? -errno : 0;
    *reason = rc == -ELOOP ? "is a symbolic link" : strerror(-rc);
    if (rc == 0 && !S_ISREG(st.st_mode))
        rc = -EINVAL, *reason = "not a segment";
    if (rc == 0 && st.st_uid != uid)
        rc = -EPERM, *reason = "belongs to another user";
    if (rc == 0) {
        file->named = parse_name(path, &file->pid, &file->ticks, &number);
        file->device_major = major(st.st_dev);
        file->device_minor = minor(st.st_dev);
        file->inode = st.st_ino;
        file->uid = st.st_uid;
        rc = map(file, reason);
    }
    if (rc == 0 && !file->named) {
        file->pid = file->view.header.pid;
        file->ticks = file->view.header.start_ticks;
    }
    if (rc == 0)
        segment_find_owner(file);
    else
        segment_close(file);
    return rc;
}

int segment_refresh(struct segment_file *file, const char **reason) {
    unmap(file, 0);
    return map(file, reason);
}

void segment_close(struct segment_file *file) {
    unmap(file, 0);
    if (file->fd >= 0)
        close(file->fd);
    file->fd = -1;
}

/* ---- By process ---- */

/* What the process is called in its own pid namespace, and its user. */
static int identify(pid_t pid, uid_t *uid, uint32_t *inner) {
    char path[64], line[512];
    snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    FILE *status = fopen(path, "re");
    if (!status)
        return errno == EACCES || errno == EPERM ? -EPERM : -ESRCH;
    *inner = (uint32_t)pid;
    while (fgets(line, sizeof line, status)) {
        const char *last;
        unsigned effective;
        if (sscanf(line, "Uid: %*u %u", &effective) == 1)
            *uid = effective;
        if (strncmp(line, "NSpid:", 6) == 0 && (last = strrchr(line, '\t')))
            *inner = (uint32_t)strtoul(last + 1, NULL, 10);
    }
    fclose(status);
    return 0;
}

struct search {
    struct segment_file *file;
    uint32_t pid;
    uint64_t ticks;
    pid_t process;
    bool found;
    const char *reason; /* why one of this process could not be opened */
    int error;
};

static int take_if_its(struct search *search, const char *path, uid_t uid) {
    uint32_t pid;
    uint64_t ticks;
    unsigned number;
    const char *reason;
    if (!parse_name(path, &pid, &ticks, &number) || pid != search->pid || ticks != search->ticks)
        return 0;
    int rc = segment_open(search->file, path, uid, &reason);
    if (rc != 0) {
        search->error = rc;
        search->reason = reason;
        return 0;
    }
    search->found = search->file->life == SEGMENT_ALIVE && search->file->process == search->process;
    if (!search->found)
        segment_close(search->file);
    return search->found;
}

/* In the directory of the user as this mount namespace has it, or the process's. */
static void search_directory(struct search *search, const char *root, uid_t uid) {
    char directory[SEGMENT_PATH_MAX], below_root[SEGMENT_PATH_MAX];
    char **paths;
    segment_directory(uid, directory);
    if (snprintf(below_root, sizeof below_root, "%s%s", root, directory) >= (int)sizeof below_root)
        return;
    ssize_t count = list(below_root, uid, &paths);
    for (ssize_t i = count; i > 0 && !search->found; i--)
        take_if_its(search, paths[i - 1], uid);
    release(paths, count);
}

int segment_open_process(struct segment_file *file, pid_t pid, const char **reason) {
    struct search search = {.file = file, .process = pid, .ticks = process_start_ticks(pid)};
    uid_t uid = geteuid();
    char root[64];
    int rc = search.ticks == 0 ? -ESRCH : identify(pid, &uid, &search.pid);
    *reason = "no such process";
    if (rc != 0)
        return rc;
    if (uid != geteuid() && geteuid() != 0) {
        *reason = "belongs to another user";
        return -EPERM;
    }
    search_directory(&search, "", uid);
    /* One that gave up its rights since. */
    if (!search.found && uid != geteuid())
        search_directory(&search, "", geteuid());
    snprintf(root, sizeof root, "/proc/%d/root", (int)pid);
    if (!search.found && access(root, X_OK) == 0)
        search_directory(&search, root, uid);
    if (search.found)
        return 0;
    *reason = search.error != 0 ? search.reason : "not profiled, or not to be seen from outside";
    return search.error != 0 ? search.error : -ENOENT;
}

/* ---- Ends ---- */

static bool is_same(const struct segment_file *file) {
    struct stat st;
    return lstat(file->path, &st) == 0 && st.st_ino == file->inode && major(st.st_dev) == file->device_major &&
           minor(st.st_dev) == file->device_minor;
}

int segment_remove(struct segment_file *file) {
    if (!is_same(file))
        return -ENOENT;
    return unlink(file->path) == 0 ? 0 : -errno;
}

bool segment_lock(struct segment_file *file) {
    return flock(file->fd, LOCK_EX | LOCK_NB) == 0 && is_same(file);
}

uint64_t segment_process_start(const struct segment_file *file) {
    const uint64_t second = UINT64_C(1000000000);
    struct timespec boot, real, step;
    uint64_t start = file->view.header.start_wall_ns;
    uint64_t ticks_ns = (file->ticks / (uint64_t)sysconf(_SC_CLK_TCK)) * second +
                        (file->ticks % (uint64_t)sysconf(_SC_CLK_TCK)) * (second / (uint64_t)sysconf(_SC_CLK_TCK));
    clock_gettime(CLOCK_BOOTTIME, &boot);
    clock_gettime(CLOCK_REALTIME, &real);
    uint64_t age = (uint64_t)boot.tv_sec * second + (uint64_t)boot.tv_nsec - ticks_ns;
    uint64_t began = (uint64_t)real.tv_sec * second + (uint64_t)real.tv_nsec - age;
    /* Files are stamped by a coarser clock, which is behind. */
    clock_getres(CLOCK_REALTIME_COARSE, &step);
    return (began < start ? began : start) - (uint64_t)step.tv_nsec;
}
