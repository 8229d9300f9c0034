/* SPDX-License-Identifier: Apache-2.0 */
/* What the process sends: for each part of the list, in order, a head and the part as a profile with names. */
#include "tools/serve_worker.h"

#include "tools/load.h"
#include "tools/segment_profile.h"
#include "tools/symbolize.h"

#include "proto/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

struct head {
    uint32_t complete;
    uint32_t len;
};

/* Names of one part: more than any file's have. */
#define PART_MAX (UINT64_C(1) << 29)

/* ---- The process ---- */

static void limit(int resource, rlim_t most) {
    struct rlimit limits;
    if (getrlimit(resource, &limits) == 0 && limits.rlim_cur > most) {
        limits.rlim_cur = most;
        setrlimit(resource, &limits);
    }
}

/* Keeps nothing of the server open: a connection ends when the server closes it. */
static void set_apart(int kept, pid_t server) {
    struct sigaction usual = {.sa_handler = SIG_DFL};
    sigset_t none;
    sigemptyset(&none);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != server)
        _exit(0);
    for (int number = 1; number < NSIG; number++)
        sigaction(number, &usual, NULL);
    sigprocmask(SIG_SETMASK, &none, NULL);
    if (kept > 3)
        syscall(SYS_close_range, 3, kept - 1, 0);
    syscall(SYS_close_range, kept < 3 ? 3 : kept + 1, ~0u, 0);
    limit(RLIMIT_CORE, 0);
    limit(RLIMIT_CPU, WORKER_SECONDS_MOST);
#ifndef __SANITIZE_ADDRESS__ /* whose shadow would count */
    limit(RLIMIT_DATA, WORKER_MEMORY);
#endif
    setpriority(PRIO_PROCESS, 0, 10);
}

static bool send_all(int fd, const void *bytes, size_t len) {
    const char *at = bytes;
    while (len > 0) {
        ssize_t n = write(fd, at, len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        at += n;
        len -= (size_t)n;
    }
    return true;
}

static bool send_part(int fd, ProfProfile *part, pid_t process, uint64_t deadline_ns) {
    struct symbolize_options options = {.style = DEMANGLE_SIMPLE, .deadline_ns = deadline_ns, .process = process};
    struct symbolize_result result;
    if (symbolize_profile(part, &options, &result) != 0)
        return false;
    size_t len = perftools__profiles__profile__get_packed_size(part);
    unsigned char *bytes = len < PART_MAX ? malloc(len + 1) : NULL;
    if (!bytes)
        return false;
    struct head head = {.complete = !result.out_of_time, .len = (uint32_t)len};
    perftools__profiles__profile__pack(part, bytes);
    bool good = send_all(fd, &head, sizeof head) && send_all(fd, bytes, len);
    free(bytes);
    return good;
}

__attribute__((noreturn)) static void look_up(const struct names_list *list, int fd, pid_t server) {
    set_apart(fd, server);
    uint64_t deadline_ns = segment_now() + WORKER_SECONDS * UINT64_C(1000000000);
    bool good = true;
    for (size_t i = 0; good && i < list->count; i++)
        good = send_part(fd, list->at[i].profile, list->process, deadline_ns);
    _exit(good ? 0 : 1);
}

/* ---- The server ---- */

int worker_start(struct worker *worker, struct names_list *list) {
    int ends[2];
    pid_t server = getpid();
    *worker = (struct worker){.list = *list, .fd = -1};
    *list = (struct names_list){0};
    if (pipe2(ends, O_CLOEXEC) != 0) {
        int rc = -errno;
        names_list_free(&worker->list);
        return rc;
    }
    worker->pid = fork();
    if (worker->pid == 0)
        look_up(&worker->list, ends[1], server);
    int rc = worker->pid < 0 ? -errno : 0;
    close(ends[1]);
    if (rc != 0) {
        close(ends[0]);
        names_list_free(&worker->list);
        worker->pid = 0;
        return rc;
    }
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    worker->fd = ends[0];
    worker->end_ns = segment_now() + WORKER_SECONDS_MOST * UINT64_C(1000000000);
    return 0;
}

static void put_away(struct worker *worker) {
    kill(worker->pid, SIGKILL);
    while (waitpid(worker->pid, NULL, 0) < 0 && errno == EINTR)
        continue;
    close(worker->fd);
    free(worker->bytes);
    names_list_free(&worker->list);
    *worker = (struct worker){.fd = -1};
}

void worker_end(struct worker *worker, struct name_cache *cache) {
    if (worker->pid == 0)
        return;
    if (cache && worker->next < worker->list.count)
        name_cache_give_up(cache, &worker->list, &worker->list.at[worker->next]);
    put_away(worker);
}

/* One part that is there in full. False if it can't be one. */
static bool take(struct worker *worker, struct name_cache *cache, const struct head *head, const unsigned char *bytes) {
    struct prof_error error;
    const char *reason;
    if (worker->next >= worker->list.count)
        return false;
    struct names_wanted *wanted = &worker->list.at[worker->next];
    ProfProfile *found = profile_read_bytes(bytes, head->len, PART_MAX, &error);
    bool good = found && load_settle(found, &reason) && found->n_location == wanted->profile->n_location &&
                found->n_mapping == wanted->profile->n_mapping &&
                name_cache_take(cache, &worker->list, wanted, found, head->complete != 0) == 0;
    profile_free(found);
    worker->next += good;
    return good;
}

/* Those parts that are there in full. False if something is wrong with them. */
static bool take_all(struct worker *worker, struct name_cache *cache) {
    size_t at = 0;
    bool good = true;
    while (good && worker->len - at >= sizeof(struct head)) {
        struct head head;
        memcpy(&head, worker->bytes + at, sizeof head);
        if (head.len >= PART_MAX)
            good = false;
        else if (worker->len - at - sizeof head < head.len)
            break;
        else
            good = take(worker, cache, &head, worker->bytes + at + sizeof head);
        at += good ? sizeof head + head.len : 0;
    }
    memmove(worker->bytes, worker->bytes + at, worker->len - at);
    worker->len -= at;
    return good;
}

bool worker_read(struct worker *worker, struct name_cache *cache) {
    while (worker->pid != 0) {
        if (worker->room - worker->len < 65536) {
            unsigned char *more = realloc(worker->bytes, 2 * worker->room + 65536);
            if (!more) {
                worker_end(worker, cache);
                break;
            }
            worker->bytes = more;
            worker->room = 2 * worker->room + 65536;
        }
        ssize_t n = read(worker->fd, worker->bytes + worker->len, worker->room - worker->len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            return false;
        if (n <= 0 || (worker->len += (size_t)n, !take_all(worker, cache)))
            worker_end(worker, cache);
    }
    return true;
}
