/* SPDX-License-Identifier: Apache-2.0 */
/* cprof serve: profiles of living processes over HTTP. */
#include "tools/serve.h"
#include "tools/tool.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define LISTEN_DEFAULT "127.0.0.1:6060"

enum { OPTION_LISTEN = TOOL_LONG, OPTION_ALLOW_REMOTE, OPTION_HOST, OPTION_PID, OPTION_NAME };

static const struct tool_option options[] = {
    {OPTION_LISTEN, "listen", "ADDRESS:PORT",
     "where to listen; " LISTEN_DEFAULT " if not given. Port 0 is any that is free"},
    {OPTION_ALLOW_REMOTE, "allow-remote", NULL,
     "let it be an address that other machines can reach: whoever can connect may then read all profiles and command "
     "lines"},
    {OPTION_HOST, "host", "NAME",
     "a further name that requests may call this server by, beside its address and localhost; may be given several "
     "times"},
    {OPTION_PID, "pid", "PID", "the process to take for requests that name none"},
    {OPTION_NAME, "name", "PATTERN", "the same by the name of its executable, as the shell matches file names"},
    {0},
};

static bool parse_pid(const char *text, pid_t *pid) {
    char *end;
    errno = 0;
    long value = strtol(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || value <= 0 || value > INT_MAX) {
        tool_error(text, "not the number of a process");
        return false;
    }
    *pid = (pid_t)value;
    return true;
}

static bool set_option(struct server *server, int option, const char **listen, bool *remote) {
    switch (option) {
    case OPTION_LISTEN:
        *listen = optarg;
        return true;
    case OPTION_ALLOW_REMOTE:
        return *remote = true;
    case OPTION_HOST:
        return host_add_name(&server->host, optarg);
    case OPTION_PID:
        return parse_pid(optarg, &server->processes.chosen);
    default:
        server->processes.pattern = optarg;
        return true;
    }
}

static int start(struct server *server, const char *listen, bool remote) {
    struct segment_file file;
    int code;
    if (server->processes.chosen != 0) {
        if (processes_open(&server->processes, server->processes.chosen, &file) != 0) {
            tool_error("serve", "process %d isn't there, or is not profiled", (int)server->processes.chosen);
            return EXIT_PROCESS;
        }
        segment_close(&file);
    }
    int listener = serve_listen(server, listen, remote, &code);
    return listener < 0 ? code : serve_requests(server, listener);
}

static int run(int argc, char **argv) {
    static struct server server;
    const char *listen = LISTEN_DEFAULT;
    bool remote = false;
    int option, code;
    while ((option = tool_next_option(&command_serve, argc, argv, &code)) > 0)
        if (!set_option(&server, option, &listen, &remote))
            return tool_usage("serve");
    if (option < 0)
        return code;
    if (optind != argc) {
        tool_error("serve", "takes no argument");
        return tool_usage("serve");
    }
    if (server.processes.chosen != 0 && server.processes.pattern) {
        tool_error("serve", "--pid and --name exclude each other");
        return tool_usage("serve");
    }
    return start(&server, listen, remote);
}

const struct tool_command command_serve = {
    .name = "serve",
    .summary = "serve profiles of living processes over HTTP",
    .usage = "[OPTION]...",
    .about =
        "Serve the profiles of this user's living processes as a Go program with net/http/pprof does, for 'go tool "
        "pprof', Pyroscope's and Parca's scrapers and whatever else reads such, and a page to watch them. It prints "
        "its address and goes on until it gets SIGINT or SIGTERM. The processes are neither stopped nor told, and have "
        "no thread and no socket for it. There are:\n"
        " /                     processes, memory over time, flame graphs, differences\n"
        " /debug/pprof/heap     what is in use\n"
        " /debug/pprof/allocs   the same, beginning with what was allocated\n"
        " /debug/pprof/         what else there is\n"
        " /targets              the processes, as Prometheus' http_sd has them\n\n"
        "Of several processes ?pid=N names one; ?seconds=N asks for the difference over so many seconds, ?debug=1 for "
        "text.",
    .options = options,
    .notes = "Function names are looked up by a process of its own, once for each build of a file. Only GET and HEAD "
             "are answered, and POST of addresses to be named; requests from pages of other sites, or to other names, "
             "are refused.",
    .exits = "0 stopped by a signal, 2 usage, 5 it can't listen there, 6 there is no process PID, or it is not "
             "profiled.",
    .examples = (const char *const[]){"cprof serve", "cprof serve --listen 127.0.0.1:7070 --name 'redis*'",
                                      "go tool pprof http://127.0.0.1:6060/debug/pprof/heap", NULL},
    .run = run,
};
