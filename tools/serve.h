/* SPDX-License-Identifier: Apache-2.0 */
/* The server of `cprof serve`.
 *
 * Role:    answers HTTP requests for profiles of living processes, as a Go program with net/http/pprof does, and for
 *          a page to watch them. It reads their segments; the processes notice nothing.
 * Parts:   serve_loop.c      waits: for requests (libmicrohttpd), signals, the process that looks names up, and time
 *          serve_request.c   one request: what may be asked and from where, then its path
 *          serve_routes.c    what there is at each path
 *          serve_job.c       profiles: what takes time, a difference and names that are not known yet
 *          serve_host.c      which address to listen on, and what it may be called
 * Threads: one. Requests that wait are suspended and looked after by the loop.
 * Trust:   none in requests; see serve_request.c for what is refused. */
#ifndef CPROF_TOOLS_SERVE_H
#define CPROF_TOOLS_SERVE_H

#include "tools/serve_host.h"
#include "tools/serve_http.h"
#include "tools/serve_names.h"
#include "tools/serve_processes.h"
#include "tools/serve_profile.h"
#include "tools/serve_worker.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SERVE_CONNECTIONS 64u      /* at a time; further ones are closed */
#define SERVE_WAITING 40u          /* of them those that wait for a difference */
#define SERVE_IDLE_SECONDS 15u     /* a connection on which nothing comes or goes is closed */
#define SERVE_EXCHANGE_SECONDS 90u /* as is one that takes longer over one request and its answer */
#define SERVE_CROWDED_SECONDS 3u   /* the same while there are few left */
#define SERVE_NAMES_SECONDS 7      /* longest wait for names: scrapers give up after 10 seconds */
#define SERVE_SECONDS_MAX 3600     /* longest difference */
#define SERVE_HEAD_BYTES 32768u    /* of a request's head */
#define SERVE_BODY_BYTES 262144u   /* of a request's body */

struct server {
    struct MHD_Daemon *daemon;
    struct host host;
    struct processes processes;
    struct name_cache *names;
    struct worker worker;
    struct request *requests; /* all there are */
    struct peer *peers;       /* connections */
    pid_t parent;             /* when it is gone, the server ends with the last process; 0: it doesn't */
    void (*started)(void);    /* called when requests are going to be answered; NULL: the address is printed */
};

/* What is sent back. All zero: nothing yet. */
struct answer {
    unsigned status;
    const char *type;     /* Content-Type */
    const char *filename; /* of an attachment; NULL: it is none */
    const char *location; /* of a redirection; NULL: it is none */
    bool refusal;         /* marked as Go marks its own, so that pprof shows the text */
    bool page;            /* has scripts and styles of its own */
    char *bytes;          /* for free() */
    size_t len;
};

/* What is asked for in a query; of several values the first counts. */
struct query {
    const char *raw; /* "" if there is none */
    bool has_pid, bad_pid;
    pid_t pid;
    bool has_seconds, bad_seconds;
    int64_t seconds;
    int64_t debug; /* 0 if it isn't a number, as for Go */
};

enum step {
    STEP_NEW,
    STEP_BODY,    /* its body is coming in */
    STEP_SECONDS, /* waits for the end of a difference, at due_ns */
    STEP_NAMES,   /* waits for names, until due_ns */
    STEP_ANSWERED,
};

enum form { FORM_GZIP, FORM_TEXT, FORM_FLAME, FORM_SYMBOLS };

struct request {
    struct request *next, **link; /* server->requests */
    struct server *server;
    struct MHD_Connection *connection;
    char *uri;        /* as it came; cut into path and query */
    char *authority;  /* host and port, if they came with it; or NULL */
    const char *path; /* decoded */
    const char *method;
    struct query query;
    char *body;
    size_t body_len;
    bool too_large;
    enum step step;
    bool suspended;
    uint64_t due_ns;
    struct answer answer;
    /* Of a profile: */
    enum form form;
    const char *kind; /* "heap" or "allocs" */
    pid_t pid;
    struct moment before; /* of a difference */
    ProfProfile *profile; /* waits for names */
    struct segment_bytes samples; /* of it, those that it has not itself */
};

/* ---- serve_loop.c ---- */

/* Gets all that is needed to serve at ADDRESS:PORT. Returns a listening socket; or, after a message, -1 and an exit
 * code. `remote`: the address may be one that other machines can reach. */
int serve_listen(struct server *server, const char *address, bool remote, int *code);

/* Serves until SIGINT or SIGTERM. `listener` is a listening socket, which is taken over. Returns an exit code, after a
 * message if it isn't EXIT_OK. */
int serve_requests(struct server *server, int listener);

/* ---- serve_request.c ---- */

/* libmicrohttpd's callbacks: the URI as it came, the request, and its end. `cls` is the server. */
void *serve_on_uri(void *cls, const char *uri, struct MHD_Connection *connection);
enum MHD_Result serve_on_request(void *cls, struct MHD_Connection *connection, const char *url, const char *method,
                                 const char *version, const char *body, size_t *body_len, void **request);
void serve_on_end(void *cls, struct MHD_Connection *connection, void **request, enum MHD_RequestTerminationCode how);

/* Sets the answer of a request and wakes it if it is suspended. `bytes` is taken over; NULL: out of memory. */
void request_answer(struct request *request, unsigned status, const char *type, char *bytes, size_t len);

/* The same with a line of text that says why not. */
void request_refuse(struct request *request, unsigned status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* ---- serve_routes.c ---- */

/* Answers the request, or leaves it waiting. */
void request_route(struct request *request);

/* ---- serve_job.c ---- */

/* Begins to answer with a profile of the process, or with what is made of one. */
void job_start(struct request *request, pid_t pid, const char *kind, enum form form);

/* Begins to answer with the names of addresses, as they are in `text`: numbers with + between them. */
void job_start_symbols(struct request *request, pid_t pid, const char *text, size_t len);

/* Goes on with a request that waits, if it is time, or if `names` says that more names are known. */
void job_continue(struct request *request, uint64_t now_ns, bool names);

/* Forgets what a request has for its profile. */
void job_release(struct request *request);

#endif
