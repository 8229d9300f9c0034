/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/run_serve.h"

#include "tools/tool.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

bool run_serve_listen(struct run_serve *serve) {
    int code;
    /* Above the streams, one of which may have been closed. */
    int fd = serve_listen(&serve->server, serve->address, serve->remote, &code);
    serve->listener = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 10);
    if (fd < 0)
        return false;
    close(fd);
    if (serve->listener < 0)
        tool_error(serve->address, "%s", strerror(errno));
    else
        fprintf(stderr, "cprof: serving http://%s/\n", serve->server.host.text);
    return serve->listener >= 0;
}

static bool is_of_run(const void *ctx, const struct segment_file *file) {
    return run_report_is_ours(ctx, file);
}

/* Whoever reads what the program writes must not wait for the server. */
static void leave_streams(void) {
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int fd = 0; null >= 0 && fd < 3; fd++)
        dup2(null, fd);
    if (null > 2)
        close(null);
}

__attribute__((noreturn)) static void run_server(struct run_serve *serve) {
    setsid();
    /* A Ctrl-C that came before was for the program; it waits, blocked, and is forgotten by this. */
    signal(SIGINT, SIG_IGN);
    syscall(SYS_close_range, 3, serve->listener - 1, 0);
    syscall(SYS_close_range, serve->listener + 1, ~0u, 0);
    serve->server.started = leave_streams;
    _exit(serve_requests(&serve->server, serve->listener));
}

void run_serve_start(struct run_serve *serve, const struct run_report *report, const struct run_child *child) {
    serve->server.parent = getpid();
    serve->server.processes.preferred = child->pid;
    serve->server.processes.is_ours = is_of_run;
    serve->server.processes.ctx = report;
    serve->pid = fork();
    if (serve->pid == 0)
        run_server(serve);
    if (serve->pid < 0) {
        tool_error(serve->address, "can't be served: %s", strerror(errno));
        serve->pid = 0;
    }
}

void run_serve_end(struct run_serve *serve, bool go_on) {
    if (serve->pid == 0 || go_on)
        return;
    kill(serve->pid, SIGTERM);
    while (waitpid(serve->pid, NULL, 0) < 0 && errno == EINTR)
        continue;
}
