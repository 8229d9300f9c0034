/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/serve.h"

#include "tools/tool.h"

#include <errno.h>
#include <limits.h>
#include <malloc.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/select.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#define SECOND UINT64_C(1000000000)

/* A connection. */
struct peer {
    struct peer *next, **link;
    int fd;
    uint64_t since_ns; /* when the exchange that it is at began */
};

/* ---- Connections ---- */

static void on_connection(void *cls, struct MHD_Connection *connection, void **socket_context,
                          enum MHD_ConnectionNotificationCode code) {
    struct server *server = cls;
    struct peer *peer = *socket_context;
    if (code == MHD_CONNECTION_NOTIFY_STARTED) {
        const union MHD_ConnectionInfo *info = http.MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
        peer = info ? calloc(1, sizeof *peer) : NULL;
        *socket_context = peer;
        if (!peer)
            return;
        peer->fd = info->connect_fd;
        peer->since_ns = segment_now();
        peer->next = server->peers;
        peer->link = &server->peers;
        if (peer->next)
            peer->next->link = &peer->next;
        server->peers = peer;
    } else if (peer) {
        *peer->link = peer->next;
        if (peer->next)
            peer->next->link = peer->link;
        free(peer);
        *socket_context = NULL;
    }
}

static struct peer *peer_of(struct MHD_Connection *connection) {
    const union MHD_ConnectionInfo *info = http.MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info ? info->socket_context : NULL;
}

static void on_end(void *cls, struct MHD_Connection *connection, void **request, enum MHD_RequestTerminationCode how) {
    struct peer *peer = peer_of(connection);
    if (peer)
        peer->since_ns = segment_now();
    serve_on_end(cls, connection, request, how);
}

/* Those that take too long, whatever comes or goes meanwhile. The time that we let a request wait is ours. */
static void close_slow(struct server *server, uint64_t now) {
    for (const struct request *request = server->requests; request; request = request->next) {
        struct peer *peer = request->suspended ? peer_of(request->connection) : NULL;
        if (peer)
            peer->since_ns = now;
    }
    unsigned count = 0;
    for (const struct peer *peer = server->peers; peer; peer = peer->next)
        count++;
    uint64_t most = (count > SERVE_CONNECTIONS * 3 / 4 ? SERVE_CROWDED_SECONDS : SERVE_EXCHANGE_SECONDS) * SECOND;
    for (const struct peer *peer = server->peers; peer; peer = peer->next)
        if (now - peer->since_ns > most)
            shutdown(peer->fd, SHUT_RDWR);
}

/* ---- Waiting ---- */

#define POLL_MAX (2 * SERVE_CONNECTIONS + 16)

struct polling {
    struct pollfd fds[POLL_MAX];
    struct request *requests[POLL_MAX]; /* NULL: of something else */
    nfds_t count;
};

static void add(struct polling *polling, int fd, short events, struct request *request) {
    if (polling->count == POLL_MAX)
        return;
    polling->fds[polling->count] = (struct pollfd){.fd = fd, .events = events};
    polling->requests[polling->count++] = request;
}

/* What the library waits for. Not by its epoll: that overlooks clients that leave right after half a request, and keeps
 * their connections until they have been idle for long. */
static void add_library(struct server *server, struct polling *polling) {
    fd_set readable, writable, other;
    MHD_socket last = 0;
    FD_ZERO(&readable);
    FD_ZERO(&writable);
    FD_ZERO(&other);
    if (http.MHD_get_fdset2(server->daemon, &readable, &writable, &other, &last, FD_SETSIZE) != MHD_YES)
        return;
    for (int fd = 0; fd <= last; fd++) {
        short events = (short)((FD_ISSET(fd, &readable) ? POLLIN : 0) | (FD_ISSET(fd, &writable) ? POLLOUT : 0));
        if (events != 0)
            add(polling, fd, events, NULL);
    }
}

/* Milliseconds until there is something to do. */
static int time_left(struct server *server, uint64_t now) {
    uint64_t next = now + SECOND; /* to look for slow connections */
    unsigned long long milliseconds;
    if (server->worker.pid != 0 && server->worker.end_ns < next)
        next = server->worker.end_ns;
    for (const struct request *request = server->requests; request; request = request->next)
        if (request->suspended && request->due_ns < next)
            next = request->due_ns;
    uint64_t left = next > now ? (next - now + 999999) / 1000000 : 0;
    if (http.MHD_get_timeout(server->daemon, &milliseconds) == MHD_YES && milliseconds < left)
        left = milliseconds;
    return (int)left;
}

static void wait_for_something(struct server *server, struct polling *polling, int signals) {
    polling->count = 0;
    add(polling, signals, POLLIN, NULL);
    add_library(server, polling);
    if (server->worker.pid != 0)
        add(polling, server->worker.fd, POLLIN, NULL);
    /* The library doesn't look at connections that are suspended; who waits may have gone. */
    for (struct request *request = server->requests; request; request = request->next) {
        const struct peer *peer = request->suspended ? peer_of(request->connection) : NULL;
        if (peer)
            add(polling, peer->fd, POLLRDHUP, request);
    }
    if (poll(polling->fds, polling->count, time_left(server, segment_now())) < 0)
        for (nfds_t i = 0; i < polling->count; i++)
            polling->fds[i].revents = 0;
}

static void drop_gone(const struct polling *polling) {
    for (nfds_t i = 0; i < polling->count; i++)
        if (polling->requests[i] && (polling->fds[i].revents & (POLLRDHUP | POLLHUP | POLLERR)))
            request_refuse(polling->requests[i], MHD_HTTP_SERVICE_UNAVAILABLE, "nobody waits for it");
}

static void go_on(struct server *server) {
    uint64_t now = segment_now();
    bool names = false;
    if (server->worker.pid != 0) {
        names = worker_read(&server->worker, server->names);
        if (!names && now >= server->worker.end_ns) {
            worker_end(&server->worker, server->names);
            names = true;
        }
    }
    for (struct request *request = server->requests; request; request = request->next)
        if (request->suspended)
            job_continue(request, now, names || server->worker.pid == 0);
    close_slow(server, now);
}

/* ---- Begin and end ---- */

static struct MHD_Daemon *start(struct server *server, int listener) {
    return http.MHD_start_daemon(MHD_ALLOW_SUSPEND_RESUME, server->host.port, NULL, NULL, serve_on_request, server,
                            MHD_OPTION_LISTEN_SOCKET, listener, MHD_OPTION_CONNECTION_LIMIT, SERVE_CONNECTIONS,
                            MHD_OPTION_CONNECTION_TIMEOUT, SERVE_IDLE_SECONDS, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
                            (size_t)SERVE_HEAD_BYTES, MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_URI_LOG_CALLBACK,
                            serve_on_uri, server, MHD_OPTION_NOTIFY_COMPLETED, on_end, server,
                            MHD_OPTION_NOTIFY_CONNECTION, on_connection, server, MHD_OPTION_END);
}

/* Nobody is left without an answer. */
static void stop(struct server *server) {
    worker_end(&server->worker, NULL);
    MHD_socket listener = http.MHD_quiesce_daemon(server->daemon);
    for (struct request *request = server->requests; request; request = request->next)
        if (request->suspended)
            request_refuse(request, MHD_HTTP_SERVICE_UNAVAILABLE, "the server is being stopped");
    http.MHD_run(server->daemon);
    http.MHD_run(server->daemon);
    http.MHD_stop_daemon(server->daemon);
    if (listener != MHD_INVALID_SOCKET)
        close(listener);
}

int serve_listen(struct server *server, const char *address, bool remote, int *code) {
    static char own[256];
    *code = EXIT_SYSTEM;
    if (!http_load())
        return -1;
    int listener = host_listen(&server->host, address, remote, code);
    /* What this machine is called is a name too, where others may ask. */
    if (listener >= 0 && remote && server->host.name_count < HOST_NAMES_MAX && gethostname(own, sizeof own - 1) == 0)
        server->host.names[server->host.name_count++] = own;
    return listener;
}

/* Whether those are gone whom it was started for. */
static bool is_over(struct server *server) {
    if (server->parent == 0 || getppid() == server->parent)
        return false;
    processes_look(&server->processes, SECOND);
    return server->processes.count == 0;
}

int serve_requests(struct server *server, int listener) {
    static struct polling polling;
    sigset_t mask;
    sigemptyset(&mask);
    sigaddset(&mask, SIGINT);
    sigaddset(&mask, SIGTERM);
    sigprocmask(SIG_BLOCK, &mask, NULL);
    signal(SIGPIPE, SIG_IGN);
    /* What a large profile took goes back to the system. */
    mallopt(M_MMAP_THRESHOLD, 256 * 1024);
    mallopt(M_TRIM_THRESHOLD, 1024 * 1024);
    int signals = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
    server->names = name_cache_new();
    server->daemon = signals >= 0 && server->names ? start(server, listener) : NULL;
    if (!server->daemon) {
        tool_error("serve", "can't be started: %s", strerror(errno));
        close(listener);
        if (signals >= 0)
            close(signals);
        name_cache_free(server->names);
        return EXIT_SYSTEM;
    }
    if (server->started) {
        server->started();
    } else {
        printf("http://%s/\n", server->host.text);
        fflush(stdout);
    }
    while (!is_over(server)) {
        wait_for_something(server, &polling, signals);
        if (polling.fds[0].revents & POLLIN)
            break;
        drop_gone(&polling);
        go_on(server);
        http.MHD_run(server->daemon);
    }
    stop(server);
    close(signals);
    name_cache_free(server->names);
    processes_release(&server->processes);
    return EXIT_OK;
}
