/* SPDX-License-Identifier: Apache-2.0 */
/* A request is refused
 *   - that calls the server by a name that isn't its own (serve_host.h),
 *   - that a page of another site made a browser send, as far as the browser says so,
 *   - whose method is another than GET and HEAD, but for POST of addresses to be named,
 *   - whose body is too large, or whose path is not one.
 * Nothing that can be asked for changes anything. */
#include "tools/serve.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SYMBOL_PATH "/debug/pprof/symbol"

/* ---- Answers ---- */

void request_answer(struct request *request, unsigned status, const char *type, char *bytes, size_t len) {
    struct answer *answer = &request->answer;
    if (request->step == STEP_ANSWERED)
        free(answer->bytes);
    if (!bytes) {
        *answer = (struct answer){.status = MHD_HTTP_INTERNAL_SERVER_ERROR, .type = "text/plain; charset=utf-8"};
        answer->bytes = strdup("");
    } else {
        answer->status = status;
        answer->type = type;
        answer->bytes = bytes;
        answer->len = len;
    }
    request->step = STEP_ANSWERED;
    job_release(request);
    if (request->suspended)
        http.MHD_resume_connection(request->connection);
    request->suspended = false;
}

void request_refuse(struct request *request, unsigned status, const char *format, ...) {
    char *text, *line = NULL;
    va_list args;
    va_start(args, format);
    int len = vasprintf(&text, format, args);
    va_end(args);
    if (len >= 0) {
        len = asprintf(&line, "%s\n", text);
        free(text);
    }
    request->answer = (struct answer){.refusal = true};
    request_answer(request, status, "text/plain; charset=utf-8", len >= 0 ? line : NULL, len >= 0 ? (size_t)len : 0);
}

#define PAGE_POLICY                                                                                                    \
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; connect-src 'self'; "   \
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
#define OTHER_POLICY "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'"

static enum MHD_Result send_answer(struct request *request) {
    struct answer *answer = &request->answer;
    struct MHD_Response *response = http.MHD_create_response_from_buffer(answer->len, answer->bytes, MHD_RESPMEM_MUST_FREE);
    char text[300];
    if (!response)
        return MHD_NO;
    answer->bytes = NULL;
    http.MHD_add_response_header(response, "Content-Type", answer->type);
    http.MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
    http.MHD_add_response_header(response, "Cache-Control", "no-store");
    http.MHD_add_response_header(response, "Cross-Origin-Resource-Policy", "same-origin");
    http.MHD_add_response_header(response, "Referrer-Policy", "no-referrer");
    http.MHD_add_response_header(response, "Content-Security-Policy", answer->page ? PAGE_POLICY : OTHER_POLICY);
    if (answer->refusal)
        http.MHD_add_response_header(response, "X-Go-Pprof", "1");
    if (answer->location)
        http.MHD_add_response_header(response, "Location", answer->location);
    if (answer->status == MHD_HTTP_METHOD_NOT_ALLOWED)
        http.MHD_add_response_header(response, "Allow",
                                request->path && strcmp(request->path, SYMBOL_PATH) == 0 ? "GET, HEAD, POST"
                                                                                         : "GET, HEAD");
    if (answer->status == MHD_HTTP_SERVICE_UNAVAILABLE)
        http.MHD_add_response_header(response, "Retry-After", "10");
    if (answer->filename) {
        snprintf(text, sizeof text, "attachment; filename=\"%s\"", answer->filename);
        http.MHD_add_response_header(response, "Content-Disposition", text);
    }
    enum MHD_Result result = http.MHD_queue_response(request->connection, answer->status, response);
    http.MHD_destroy_response(response);
    return result;
}

/* ---- The URI ---- */

static int hex(char c) {
    return isdigit((unsigned char)c) ? c - '0' : isxdigit((unsigned char)c) ? (c | 0x20) - 'a' + 10 : -1;
}

/* Decodes %XX in place. False if there are other things behind a %, or if a control character comes out. */
static bool decode(char *text) {
    char *to = text;
    for (const char *at = text; *at; at++) {
        int high = *at == '%' ? hex(at[1]) : 0, low = *at == '%' && high >= 0 ? hex(at[2]) : 0;
        if (high < 0 || low < 0)
            return false;
        *to = *at == '%' ? (char)(16 * high + low) : *at;
        if ((unsigned char)*to < ' ' || *to == 0x7f)
            return false;
        at += *at == '%' ? 2 : 0;
        to++;
    }
    *to = '\0';
    return true;
}

static bool parse_number(const char *text, int64_t *number) {
    char *end;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    *number = value;
    return errno == 0 && end != text && *end == '\0' && !isspace((unsigned char)text[0]);
}

static void take_parameter(struct query *query, const char *name, const char *value) {
    int64_t number;
    bool is_number = parse_number(value, &number);
    if (strcmp(name, "pid") == 0 && !query->has_pid) {
        query->has_pid = true;
        query->bad_pid = !is_number || number <= 0 || number > INT_MAX;
        query->pid = query->bad_pid ? 0 : (pid_t)number;
    } else if (strcmp(name, "seconds") == 0 && !query->has_seconds && value[0] != '\0') {
        query->has_seconds = true;
        query->bad_seconds = !is_number || number <= 0;
        query->seconds = number;
    } else if (strcmp(name, "debug") == 0 && query->debug == 0 && is_number) {
        query->debug = number;
    }
}

static void parse_query(struct query *query) {
    const char *at = query->raw;
    while (*at) {
        char pair[64];
        size_t len = strcspn(at, "&");
        if (len < sizeof pair) {
            memcpy(pair, at, len);
            pair[len] = '\0';
            char *value = strchr(pair, '=');
            if (value) {
                *value++ = '\0';
                if (decode(pair) && decode(value))
                    take_parameter(query, pair, value);
            }
        }
        at += len + (at[len] == '&');
    }
}

/* http://HOST/PATH, as clients write it that take the server for a proxy: RFC 9112, 3.2.2 has servers accept it. HOST
 * counts as Host does then. */
static void split_authority(struct request *request) {
    static const char scheme[] = "http://";
    if (strncasecmp(request->uri, scheme, sizeof scheme - 1) != 0)
        return;
    char *authority = request->uri + sizeof scheme - 1;
    size_t len = strcspn(authority, "/?");
    request->authority = strndup(authority, len);
    /* Without a path the root is meant. */
    char *path = authority + len;
    if (*path != '/')
        *--path = '/';
    memmove(request->uri, path, strlen(path) + 1);
}

static bool parse_uri(struct request *request) {
    split_authority(request);
    char *query = strchr(request->uri, '?');
    if (request->uri[0] != '/')
        return false;
    request->query.raw = "";
    if (query) {
        *query = '\0';
        request->query.raw = query + 1;
        parse_query(&request->query);
    }
    request->path = request->uri;
    return decode(request->uri);
}

/* ---- Who asks ---- */

struct hosts {
    const struct host *host;
    unsigned right, wrong;
    bool foreign_origin;
};

static enum MHD_Result see_header(void *cls, enum MHD_ValueKind kind, const char *name, const char *value) {
    struct hosts *hosts = cls;
    (void)kind;
    if (strcasecmp(name, "Host") == 0) {
        bool right = value && host_is(hosts->host, value);
        hosts->right += right;
        hosts->wrong += !right;
    } else if (strcasecmp(name, "Origin") == 0) {
        hosts->foreign_origin |= !value || !host_is_origin(hosts->host, value);
    }
    return MHD_YES;
}

static const char *header(const struct request *request, const char *name) {
    return http.MHD_lookup_connection_value(request->connection, MHD_HEADER_KIND, name);
}

/* Browsers say where a request comes from: older ones by Origin alone, which is not there when a link was followed. That is
 * fine; that something on another site's page fetched it is not. */
static bool is_fetched_elsewhere(const struct request *request) {
    const char *site = header(request, "Sec-Fetch-Site"), *mode = header(request, "Sec-Fetch-Mode");
    return site && strcmp(site, "none") != 0 && strcmp(site, "same-origin") != 0 &&
           !(mode && strcmp(mode, "navigate") == 0);
}

/* Refuses what must not be answered. */
static bool may_ask(struct request *request) {
    struct hosts hosts = {.host = &request->server->host};
    http.MHD_get_connection_values(request->connection, MHD_HEADER_KIND, see_header, &hosts);
    if (!parse_uri(request))
        request_refuse(request, MHD_HTTP_BAD_REQUEST, "not a path");
    else if (request->authority && !host_is(&request->server->host, request->authority))
        request_refuse(request, MHD_HTTP_FORBIDDEN, "this server is not called so; it is at http://%s/",
                       request->server->host.text);
    else if (hosts.right == 0 && hosts.wrong == 0)
        request_refuse(request, MHD_HTTP_BAD_REQUEST, "the request doesn't say which host it is for");
    else if (hosts.right != 1 || hosts.wrong != 0)
        request_refuse(request, MHD_HTTP_FORBIDDEN, "this server is not called so; it is at http://%s/",
                       request->server->host.text);
    else if (hosts.foreign_origin || is_fetched_elsewhere(request))
        request_refuse(request, MHD_HTTP_FORBIDDEN, "this is not for pages of other sites");
    else if (strcmp(request->method, "GET") != 0 && strcmp(request->method, "HEAD") != 0 &&
             !(strcmp(request->method, "POST") == 0 && strcmp(request->path, SYMBOL_PATH) == 0))
        request_refuse(request, MHD_HTTP_METHOD_NOT_ALLOWED, "method not allowed");
    else
        return true;
    return false;
}

/* ---- Callbacks ---- */

void *serve_on_uri(void *cls, const char *uri, struct MHD_Connection *connection) {
    struct server *server = cls;
    struct request *request = calloc(1, sizeof *request);
    if (!request || !(request->uri = strdup(uri))) {
        free(request);
        return NULL;
    }
    request->server = server;
    request->connection = connection;
    request->next = server->requests;
    request->link = &server->requests;
    if (request->next)
        request->next->link = &request->next;
    server->requests = request;
    return request;
}

static void take_body(struct request *request, const char *bytes, size_t len) {
    char *more = len <= SERVE_BODY_BYTES - request->body_len ? realloc(request->body, request->body_len + len) : NULL;
    if (!more) {
        request->too_large = true;
        return;
    }
    request->body = more;
    memcpy(more + request->body_len, bytes, len);
    request->body_len += len;
}

enum MHD_Result serve_on_request(void *cls, struct MHD_Connection *connection, const char *url, const char *method,
                                 const char *version, const char *body, size_t *body_len, void **pointer) {
    struct request *request = *pointer;
    (void)cls, (void)connection, (void)url, (void)version;
    if (!request)
        return MHD_NO;
    if (request->step == STEP_NEW) {
        request->method = method;
        if (may_ask(request)) {
            request->step = STEP_BODY;
            return MHD_YES;
        }
    } else if (request->step == STEP_BODY && *body_len > 0) {
        /* Only what is posted has a meaning; the rest of a body is not kept. */
        if (strcmp(method, "POST") == 0)
            take_body(request, body, *body_len);
        *body_len = 0;
        return MHD_YES;
    } else if (request->step == STEP_BODY) {
        if (request->too_large)
            request_refuse(request, MHD_HTTP_CONTENT_TOO_LARGE, "at most %u bytes", SERVE_BODY_BYTES);
        else
            request_route(request);
    }
    if (request->step == STEP_ANSWERED)
        return send_answer(request);
    if (!request->suspended)
        http.MHD_suspend_connection(connection);
    request->suspended = true;
    return MHD_YES;
}

void serve_on_end(void *cls, struct MHD_Connection *connection, void **pointer, enum MHD_RequestTerminationCode how) {
    struct request *request = *pointer;
    (void)cls, (void)connection, (void)how;
    *pointer = NULL;
    if (!request)
        return;
    *request->link = request->next;
    if (request->next)
        request->next->link = request->link;
    job_release(request);
    free(request->answer.bytes);
    free(request->body);
    free(request->authority);
    free(request->uri);
    free(request);
}
