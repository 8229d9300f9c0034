/* SPDX-License-Identifier: Apache-2.0 */
/* The segments of profiled processes: finding them, opening them, telling the living from the dead.
 *
 * Role:    in front of everything that looks at a process from outside: ls, dump, recover, top and what run does at
 *          its end. The layout and the names of the files are preload/record/segment_file.h's.
 * Process: is never touched. No signal, no ptrace, no descriptor of it is used, so it may be stopped, spin or wait.
 * Trust:   a file is looked at only if it is a regular one of the user that its directory is of, and not a link. What
 * is in it is read through proto/view.h. It may be cut off or changed at any moment: see segment_guard(). Holes:
 * reading a hole of a mapped tmpfs file would put memory there, or be a SIGBUS where there is none, so only files whose
 * data cover what they say is in use are mapped as they are; of others, just the data. Alive:   while a process has the
 * file mapped, it is open for writing, which a lease on it tells from everywhere, also from another pid namespace.
 * Whose it is, is told by /proc: the same start time, and a thread that has the file mapped; a process that exec'ed
 * another program has not. */
#ifndef CPROF_TOOLS_SEGMENTS_H
#define CPROF_TOOLS_SEGMENTS_H

#include "proto/view.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum segment_life {
    SEGMENT_ALIVE,
    SEGMENT_DEAD,
    SEGMENT_UNSEEN, /* somebody has it mapped who is not to be seen from here */
};

#define SEGMENT_PATH_MAX 512u

struct segment_file {
    char path[SEGMENT_PATH_MAX];
    uint32_t pid;   /* of the file's name: the process, as it is called in its own pid namespace */
    uint64_t ticks; /* its start time */
    bool named;     /* the file has such a name; else the two are the header's */
    int fd;
    uint32_t device_major, device_minor;
    uint64_t inode;
    uid_t uid;
    void *base;
    size_t len;
    bool unfinished; /* being made when its process was killed, or at this moment: there is nothing in it */
    enum segment_life life;
    pid_t process; /* if alive: what it is called here */
    struct segment_view view;
};

/* Path of the directory of a user's segments, as it is in this mount namespace. */
void segment_directory(uid_t uid, char path[SEGMENT_PATH_MAX]);

/* Calls back with the path of each segment's file of a user; oldest process first. A directory that is of somebody
 * else, or open to others, is left alone. Returns 0, the first value other than 0 that `each` returned, or a negative
 * errno; that there is no directory is not an error. */
int segments_each(uid_t uid, int (*each)(void *ctx, const char *path), void *ctx);

/* Opens a segment. `uid` is who must own it. Returns 0, also if it is unfinished, or a negative errno and in *reason
 * what to tell people. */
int segment_open(struct segment_file *file, const char *path, uid_t uid, const char **reason);

/* Looks again at what is there now: the view shows the newest entries. Returns as segment_open() does. */
int segment_refresh(struct segment_file *file, const char **reason);

void segment_close(struct segment_file *file);

/* Calls fn(ctx), which reads the view, and returns what it returns; -EFAULT if the file was cut off meanwhile. What
 * `fn` took is then lost. Not to be nested. */
int segment_guard(int (*fn)(void *ctx), void *ctx);

/* Opens the segment of a living process: the newest, if it ran several programs. Returns 0, -ESRCH if there is no such
 * process, -ENOENT if there is no segment of it, or another negative errno, and *reason. */
int segment_open_process(struct segment_file *file, pid_t pid, const char **reason);

/* Takes the file away if it still is the one that was opened. Returns 0 or a negative errno. */
int segment_remove(struct segment_file *file);

/* Lets one process at a time make the profile of it; given back by segment_close(). False: another one is at it, or it
 * is gone already. */
bool segment_lock(struct segment_file *file);

/* When the process began, in nanoseconds since 1970, by the clock that stamps files, and not later than it did. */
uint64_t segment_process_start(const struct segment_file *file);

/* Start time of a process, field 22 of /proc/PID/stat; 0 if there is none. */
uint64_t process_start_ticks(pid_t pid);

#endif
