/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/serve_host.h"

#include "tools/tool.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

/* Cuts "NAME:PORT", "[V6]:PORT" or either without a port. *port is -1 if there is none. False if it is neither. */
static bool cut(const char *text, char *name, size_t size, long *port) {
    bool bracket = text[0] == '[';
    const char *start = text + bracket, *end = start + strcspn(start, bracket ? "]" : ":");
    size_t len = (size_t)(end - start);
    if (len >= size || (bracket && *end != ']'))
        return false;
    memcpy(name, start, len);
    name[len] = '\0';
    const char *rest = end + bracket;
    *port = -1;
    if (*rest == '\0')
        return true;
    if (*rest != ':' || rest[1] == '\0' || rest[1 + strspn(rest + 1, "0123456789")] != '\0' || strlen(rest) > 6)
        return false;
    *port = strtol(rest + 1, NULL, 10);
    return *port <= 65535;
}

/* ---- Listening ---- */

static bool is_loopback(const struct sockaddr *address) {
    if (address->sa_family == AF_INET)
        return ntohl(((const struct sockaddr_in *)address)->sin_addr.s_addr) >> 24 == 127;
    const struct in6_addr *six = &((const struct sockaddr_in6 *)address)->sin6_addr;
    return IN6_IS_ADDR_LOOPBACK(six) || (IN6_IS_ADDR_V4MAPPED(six) && six->s6_addr[12] == 127);
}

static bool is_everywhere(const struct sockaddr *address) {
    if (address->sa_family == AF_INET)
        return ((const struct sockaddr_in *)address)->sin_addr.s_addr == htonl(INADDR_ANY);
    return IN6_IS_ADDR_UNSPECIFIED(&((const struct sockaddr_in6 *)address)->sin6_addr);
}

/* Returns the socket, or a negative errno. */
static int open_socket(const struct addrinfo *info) {
    int yes = 1;
    int fd = socket(info->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -errno;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (bind(fd, info->ai_addr, info->ai_addrlen) != 0 || listen(fd, 128) != 0) {
        int rc = -errno;
        close(fd);
        return rc;
    }
    return fd;
}

static void describe(struct host *host, int fd) {
    struct sockaddr_storage bound;
    char port[8];
    socklen_t len = sizeof bound;
    getsockname(fd, (struct sockaddr *)&bound, &len);
    getnameinfo((struct sockaddr *)&bound, len, host->address, sizeof host->address, port, sizeof port,
                NI_NUMERICHOST | NI_NUMERICSERV);
    host->port = (uint16_t)atoi(port);
    host->everywhere = is_everywhere((struct sockaddr *)&bound);
    snprintf(host->text, sizeof host->text, bound.ss_family == AF_INET6 ? "[%s]:%s" : "%s:%s", host->address, port);
}

int host_listen(struct host *host, const char *address, bool remote, int *code) {
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE | AI_NUMERICSERV}, *info = NULL;
    char name[256], port[24];
    long number;
    *code = EXIT_USAGE;
    if (!cut(address, name, sizeof name, &number) || number < 0) {
        tool_error(address, "not ADDRESS:PORT");
        return -1;
    }
    snprintf(port, sizeof port, "%ld", number);
    int rc = getaddrinfo(name[0] ? name : NULL, port, &hints, &info);
    if (rc != 0) {
        tool_error(address, "%s", rc == EAI_SYSTEM ? strerror(errno) : gai_strerror(rc));
        return -1;
    }
    /* Of localhost both addresses are known; people and programs mean the older one. */
    const struct addrinfo *chosen = info;
    while (chosen && chosen->ai_family != AF_INET)
        chosen = chosen->ai_next;
    chosen = chosen ? chosen : info;
    int fd = -1;
    if (!remote && !is_loopback(chosen->ai_addr)) {
        tool_error(address, "others than this machine could reach that; --allow-remote says that they may");
    } else {
        fd = open_socket(chosen);
        if (fd < 0) {
            *code = EXIT_SYSTEM;
            tool_error(address, "can't listen there: %s", strerror(-fd));
            fd = -1;
        } else {
            describe(host, fd);
        }
    }
    freeaddrinfo(info);
    return fd;
}

/* ---- Names ---- */

bool host_add_name(struct host *host, const char *name) {
    if (host->name_count == HOST_NAMES_MAX) {
        tool_error(name, "too many names");
        return false;
    }
    host->names[host->name_count++] = name;
    return true;
}

static bool same_address(const char *a, const char *b) {
    unsigned char left[16], right[16];
    for (int i = 0; i < 2; i++) {
        int family = i == 0 ? AF_INET : AF_INET6;
        if (inet_pton(family, a, left) == 1 && inet_pton(family, b, right) == 1)
            return memcmp(left, right, family == AF_INET ? 4 : 16) == 0;
    }
    return false;
}

static bool is_address(const char *text) {
    unsigned char bytes[16];
    return inet_pton(AF_INET, text, bytes) == 1 || inet_pton(AF_INET6, text, bytes) == 1;
}

bool host_is(const struct host *host, const char *value) {
    char name[256];
    long port;
    if (!cut(value, name, sizeof name, &port) || (port < 0 ? 80 : port) != host->port)
        return false;
    if (strcasecmp(name, "localhost") == 0 || same_address(name, "127.0.0.1") || same_address(name, "::1") ||
        same_address(name, host->address) || (host->everywhere && is_address(name)))
        return true;
    for (size_t i = 0; i < host->name_count; i++)
        if (strcasecmp(name, host->names[i]) == 0)
            return true;
    return false;
}

bool host_is_origin(const struct host *host, const char *value) {
    static const char scheme[] = "http://";
    return strncasecmp(value, scheme, sizeof scheme - 1) == 0 && host_is(host, value + sizeof scheme - 1);
}
