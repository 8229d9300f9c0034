/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/segment_life.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

uint64_t process_start_ticks(pid_t pid) {
    char path[64], text[1024];
    uint64_t ticks = 0;
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (fd >= 0)
        close(fd);
    if (n <= 0)
        return 0;
    text[n] = '\0';
    /* The name, in parentheses, may hold anything. */
    const char *at = strrchr(text, ')');
    for (int field = 2; at && field < 22; field++)
        at = strchr(at + 1, ' ');
    return at && sscanf(at, " %" SCNu64, &ticks) == 1 ? ticks : 0;
}

enum mapped { NOT_MAPPED, MAPPED, NOT_TOLD };

static enum mapped maps_file_has(const char *path, const struct segment_file *file) {
    char *line = NULL;
    size_t room = 0;
    enum mapped found = NOT_MAPPED;
    FILE *maps = fopen(path, "re");
    if (!maps)
        return errno == EACCES || errno == EPERM ? NOT_TOLD : NOT_MAPPED;
    while (found == NOT_MAPPED && getline(&line, &room, maps) > 0) {
        uint32_t device_major, device_minor;
        uint64_t inode;
        char rights[8];
        /* Commands that look at it map it as well, but can't write to it. */
        int fields = sscanf(line, "%*x-%*x %7s %*x %" SCNx32 ":%" SCNx32 " %" SCNu64, rights, &device_major,
                            &device_minor, &inode);
        if (fields == 4 && strchr(rights, 'w') && inode == file->inode && device_major == file->device_major &&
            device_minor == file->device_minor)
            found = MAPPED;
    }
    free(line);
    fclose(maps);
    return found;
}

/* Thread by thread: that of a process whose first thread ended by pthread_exit reads empty. */
static enum mapped process_has(pid_t pid, const struct segment_file *file) {
    char path[128];
    enum mapped found = NOT_MAPPED;
    snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
    found = maps_file_has(path, file);
    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    DIR *tasks = found == NOT_MAPPED ? opendir(path) : NULL;
    for (const struct dirent *task; tasks && found == NOT_MAPPED && (task = readdir(tasks));) {
        if (!isdigit((unsigned char)task->d_name[0]))
            continue;
        snprintf(path, sizeof path, "/proc/%d/task/%.16s/maps", (int)pid, task->d_name);
        found = maps_file_has(path, file);
    }
    if (tasks)
        closedir(tasks);
    return found;
}

/* Whether any process has the file open for writing, which a mapping that is written to counts as: 1, 0, or -1 if that
 * can't be found out. */
static int is_held(const struct segment_file *file) {
    struct sigaction ignore = {.sa_handler = SIG_IGN}, before;
    int held = -1;
    /* What would be sent if somebody wanted to write just now. */
    sigaction(SIGIO, &ignore, &before);
    if (fcntl(file->fd, F_SETLEASE, F_RDLCK) == 0) {
        held = 0;
        fcntl(file->fd, F_SETLEASE, F_UNLCK);
    } else if (errno == EAGAIN) {
        held = 1;
    }
    sigaction(SIGIO, &before, NULL);
    return held;
}

/* Whether the process calls itself by the segment's number. */
static bool calls_itself(pid_t pid, uint32_t number) {
    char path[64], line[512];
    bool same = false;
    snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    FILE *status = fopen(path, "re");
    while (status && fgets(line, sizeof line, status)) {
        const char *last = strncmp(line, "NSpid:", 6) == 0 ? strrchr(line, '\t') : NULL;
        if (last)
            same = strtoul(last + 1, NULL, 10) == number;
    }
    if (status)
        fclose(status);
    return same;
}

/* Among all that can be seen: the owner, called otherwise here; or others, to whom the mapping came by a fork. */
static void look_everywhere(struct segment_file *file) {
    DIR *processes = opendir("/proc");
    file->life = SEGMENT_UNSEEN;
    for (const struct dirent *entry; processes && (entry = readdir(processes));) {
        pid_t pid = (pid_t)atol(entry->d_name);
        if (pid <= 0 || process_has(pid, file) != MAPPED)
            continue;
        if (process_start_ticks(pid) == file->ticks && calls_itself(pid, file->pid)) {
            file->life = SEGMENT_ALIVE;
            file->process = pid;
            break;
        }
        file->life = SEGMENT_DEAD;
    }
    if (processes)
        closedir(processes);
}

void segment_find_owner(struct segment_file *file) {
    int held = is_held(file);
    file->process = 0;
    file->life = SEGMENT_DEAD;
    if (held == 0)
        return;
    if (process_start_ticks((pid_t)file->pid) == file->ticks) {
        enum mapped mapped = process_has((pid_t)file->pid, file);
        /* One that is being made may not be mapped yet. */
        if (mapped != NOT_MAPPED || (held < 0 && file->unfinished)) {
            file->life = SEGMENT_ALIVE;
            file->process = (pid_t)file->pid;
            return;
        }
    }
    if (held == 1)
        look_everywhere(file);
}
