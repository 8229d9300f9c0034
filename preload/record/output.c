/* SPDX-License-Identifier: Apache-2.0 */
#include "preload/record/output.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>

#include "preload/record/log.h"
#include "preload/record/memory.h"
#include "preload/record/name.h"
#include "preload/record/process.h"
#include "preload/record/record.h"
#include "preload/record/segment.h"
#include "preload/record/sys.h"
#include "preload/record/text.h"

void (*output_written)(enum output_kind kind, const char *path);

static const struct backend *backend;

/* Stack for writing, and memory for the encoder when there is no other any more; both untouched until then. */
#define STACK (192ul << 10)
#define SPARE (2ul << 20)
static char *room;

/* Of a pipe or a terminal that takes nothing: as long as all signals are blocked, waiting must have an end. */
#define STALL_SECONDS 10

struct job {
    enum output_kind kind;
    const char *given; /* or NULL: by the template */
    uint32_t number; /* of the dump */
    int result;

    int fd;
    size_t spare_used;
    int direct;           /* not a regular file: written to as it is */
    char path[NAME_ROOM]; /* what it shall be called */
    char temporary[NAME_ROOM];
};

int output_init(const char *template, const char *exe) {
    room = memory_map_sparse(STACK + SPARE);
    if (!room)
        return -ENOMEM;
    name_init(template, exe);
    output_name_stored();
    return 0;
}

void output_discard(void) {
    if (room)
        memory_unmap_sparse(room, STACK + SPARE);
    room = NULL;
}

void output_name_stored(void) {
    struct job *job = (struct job *)room;
    if (name_make(OUTPUT_END, segment.header->dumps + 1, job->path, sizeof job->path) == 0)
        segment.header->out = segment_store_string(job->path, text_length(job->path));
}

void output_backend(const struct backend *b) {
    store_release(&backend, b);
}

/* Blocks of the encoder's: sizes in front, so that they can be given back. Once the kernel has no more, from the spare. */
static void *take(void *ctx, size_t n) {
    struct job *job = ctx;
    size_t *block = memory_map(n + 16);
    n = (n + 31) & ~15ul;
    if (block) {
        block[0] = n;
    } else if (n <= SPARE - job->spare_used) {
        block = (size_t *)(room + STACK + job->spare_used);
        job->spare_used += n;
        block[0] = 0;
    } else {
        return NULL;
    }
    return (char *)block + 16;
}

static void give_back(void *ctx, void *p) {
    size_t *block = p ? (size_t *)((char *)p - 16) : NULL;
    (void)ctx;
    if (block && block[0])
        memory_unmap(block, block[0]);
}

/* False if it takes nothing for too long; true also if that can't be told. */
static int wait_writable(int fd) {
    struct pollfd taking = {.fd = fd, .events = POLLOUT};
    struct timespec limit = {.tv_sec = STALL_SECONDS};
    long n;
    while ((n = sys6(SYS_ppoll, (long)&taking, 1, (long)&limit, 0, 8, 0)) == -EINTR)
        ; /* the kernel has taken off what went by */
    return n != 0;
}

static int write_all(void *ctx, const void *buf, size_t len) {
    const struct job *job = ctx;
    const char *at = buf;
    while (len) {
        long n = sys_write(job->fd, at, len);
        if (n == -EINTR || (n == -EAGAIN && job->direct && wait_writable(job->fd)))
            continue;
        if (n == -EAGAIN)
            return -ETIMEDOUT;
        if (n <= 0)
            return n ? (int)n : -EIO;
        at += n;
        len -= (size_t)n;
    }
    return 0;
}

/* With every descriptor in use, one more may be had if the soft limit is not the hard one. */
static int open_file(const char *path, int flags) {
    int fd = (int)sys_open(path, flags | O_WRONLY | O_CLOEXEC | O_NOCTTY, 0666);
    struct rlimit limit, more;
    if (fd != -EMFILE || sys4(SYS_prlimit64, 0, RLIMIT_NOFILE, 0, &limit) < 0 || limit.rlim_cur >= limit.rlim_max)
        return fd;
    more = limit;
    more.rlim_cur++;
    if (sys4(SYS_prlimit64, 0, RLIMIT_NOFILE, &more, 0) < 0)
        return fd;
    fd = (int)sys_open(path, flags | O_WRONLY | O_CLOEXEC | O_NOCTTY, 0666);
    sys4(SYS_prlimit64, 0, RLIMIT_NOFILE, &limit, 0);
    return fd;
}

/* Opens what to write to: a temporary file beside the name, or what stands there if that is no file. */
static int open_output(struct job *job) {
    struct stat st;
    job->direct = sys4(SYS_newfstatat, AT_FDCWD, job->path, &st, 0) == 0 && !S_ISREG(st.st_mode);
    if (job->direct && S_ISDIR(st.st_mode))
        return -EISDIR;
    if (job->direct) {
        /* Opening a FIFO would else wait for a reader. */
        job->fd = open_file(job->path, O_NONBLOCK);
        return job->fd == -ENXIO && S_ISFIFO(st.st_mode) ? -EPIPE : job->fd;
    }
    name_temporary(job->path, job->temporary, sizeof job->temporary);
    job->fd = open_file(job->temporary, O_CREAT | O_EXCL | O_NOFOLLOW);
    if (job->fd == -EEXIST && sys1(SYS_unlink, job->temporary) == 0) /* of a process with the same number that was killed */
        job->fd = open_file(job->temporary, O_CREAT | O_EXCL | O_NOFOLLOW);
    return job->fd;
}

static uint64_t monotonic(void) {
    struct timespec t = {0};
    sys2(SYS_clock_gettime, CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static int fill(struct job *job) {
    int ret = open_output(job);
    if (ret < 0)
        return ret;
    record_publish();
    ret = backend->encode(segment.header, segment.header->size, monotonic(), job->kind == OUTPUT_PEAK, take, give_back,
                          write_all, job);
    long closed = sys_close(job->fd);
    if (ret == 0 && closed < 0 && closed != -EINTR)
        ret = (int)closed; /* NFS and quotas tell only now */
    if (job->direct)
        return ret;
    if (ret == 0)
        ret = job->given ? (int)sys2(SYS_rename, job->temporary, job->path) : name_put(job->temporary, job->path);
    if (ret < 0)
        sys1(SYS_unlink, job->temporary);
    return ret;
}

/* A line on stderr for each small process of a script or a sandbox, when their profiles hold nothing, would be no help
 * to anyone; and some programs read their children's. The first process always says so. */
static enum log_level level_of_failure(int has_samples) {
    return has_samples || !name_is_descendants() ? LOG_ERROR : LOG_WARN;
}

/* Of a last one the records are all that is left, and stay in their file. Whether stderr took the line is noted there: many
 * programs close it before they end, and then `cprof run` says the same. */
static void tell_failure(const struct job *job, int has_samples) {
    char buf[128];
    struct text advice;
    int kept = job->kind != OUTPUT_DUMP && !load_relaxed(&segment.header->private_memory);
    text_init(&advice, buf, sizeof buf);
    text_add(&advice, "; the records are kept: `cprof recover -o DIR ");
    text_add_number(&advice, segment.header->pid);
    text_add(&advice, "` makes the profile of them");
    if (log_error_advice(level_of_failure(has_samples), "the profile could not be written to ", job->path, -job->result,
                         kept ? advice.at : NULL) &&
        kept)
        store_release(&segment.header->state, (uint32_t)SEGMENT_FAILED);
}

/* Runs on the stack put aside. */
static void run(void *p) {
    struct job *job = p;
    int has_samples = segment.header->region[SEGMENT_BUCKETS].used > process_first_bucket;
    if (job->given)
        job->result = name_given(job->given, job->path, sizeof job->path);
    else
        job->result = name_make(job->kind, job->number, job->path, sizeof job->path);
    if (job->result == 0)
        job->result = fill(job);
    /* A stderr that nobody reads must not hold the program either. */
    if (job->result < 0 && wait_writable(2))
        tell_failure(job, has_samples);
    else if (job->result >= 0 && output_written && !job->direct && has_samples)
        output_written(job->kind, job->path);
}

/* Every signal is blocked meanwhile that is not the program's own fault: a handler of the program would run on that stack, and
 * might leave it for good by a longjmp; SIGXFSZ would end the process for our file's sake, SIGPIPE for our pipe's. */
static long block_signals(uint64_t *before) {
    uint64_t others = ~(1ull << (SIGSEGV - 1) | 1ull << (SIGBUS - 1) | 1ull << (SIGILL - 1) | 1ull << (SIGFPE - 1));
    return sys4(SYS_rt_sigprocmask, SIG_BLOCK, &others, before, 8);
}

/* A SIGXFSZ or SIGPIPE of ours is taken back before it can be delivered. */
static void unblock_signals(const uint64_t *before, int result) {
    uint64_t ours = 1ull << (SIGXFSZ - 1) | 1ull << (SIGPIPE - 1);
    struct timespec none = {0};
    if (result == -EFBIG || result == -EPIPE)
        sys4(SYS_rt_sigtimedwait, &ours, 0, &none, 8);
    sys4(SYS_rt_sigprocmask, SIG_SETMASK, before, 0, 8);
}

HIDDEN void stack_call(char *top, void (*fn)(void *), void *arg); /* intercept/entry.S */

/* With signals blocked, and `writing` taken. */
static int write_alone(enum output_kind kind, const char *given) {
    /* The last profile was begun: what another thread would write now, the end of the process might cut short. */
    if (kind == OUTPUT_DUMP && load_acquire(&process_page->ended))
        return -EALREADY;
    struct job *job = (struct job *)room; /* at the low end of the stack, which is far from full */
    job->kind = kind;
    job->given = given;
    job->spare_used = 0;
    job->number = kind == OUTPUT_PEAK ? segment.header->dumps : ++segment.header->dumps;
    stack_call(room + STACK, run, job);
    return job->result;
}

static int write_job(enum output_kind kind, const char *given) {
    uint64_t before = 0;
    int ret = -EALREADY;
    if (!segment.header || !backend || !room)
        return -ENODATA;
    record_check_process();
    long blocked = block_signals(&before);
    if (!(kind == OUTPUT_DUMP && load_acquire(&process_page->ended)) && !exchange_acquire(&process_page->writing, 1u)) {
        ret = write_alone(kind, given);
        store_release(&process_page->writing, 0u);
    }
    if (blocked == 0)
        unblock_signals(&before, ret);
    return ret;
}

int output_write(enum output_kind kind) {
    return write_job(kind, NULL);
}

int output_write_to(const char *path) {
    return write_job(OUTPUT_DUMP, path);
}
