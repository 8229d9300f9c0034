/* SPDX-License-Identifier: Apache-2.0 */
/* Where the server listens, and what it may be called.
 *
 * A page of any site may make a browser send requests to an address of this machine, by a name of its own that leads
 * here. So requests must call the server by a name that nobody else can give: an address that it listens on,
 * localhost, or one that the command line says. */
#ifndef CPROF_TOOLS_SERVE_HOST_H
#define CPROF_TOOLS_SERVE_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HOST_NAMES_MAX 16u
#define HOST_TEXT_MAX 280u /* of a name with its port */

struct host {
    char text[HOST_TEXT_MAX]; /* address and port, as in a URL */
    uint16_t port;
    bool everywhere; /* listens on all addresses: any of them is fine */
    const char *names[HOST_NAMES_MAX];
    size_t name_count;
    char address[64]; /* the one that it listens on */
};

/* Opens a socket that listens on ADDRESS:PORT, port 0 standing for any that is free. Unless `remote`, only addresses of
 * the loopback are taken. Returns the socket and fills *host but for its names; or, after a message, -1 and *code. */
int host_listen(struct host *host, const char *address, bool remote, int *code);

/* Adds a name. False, after a message, if there are too many. */
bool host_add_name(struct host *host, const char *name);

/* Whether the value of a request's Host is one that this server may be called by. */
bool host_is(const struct host *host, const char *value);

/* Whether the value of a request's Origin is this server: that a page of its own made the request. */
bool host_is_origin(const struct host *host, const char *value);

#endif
