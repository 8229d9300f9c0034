/* SPDX-License-Identifier: Apache-2.0 */
/* libmicrohttpd, loaded when the server starts.
 *
 * Why: linked, it brings GnuTLS and seven more libraries into each start of the command, which a profiled process waits
 *      for when it ends (`cprof symbolize`): 5.4 million instructions instead of 0.7. */
#ifndef CPROF_TOOLS_SERVE_HTTP_H
#define CPROF_TOOLS_SERVE_HTTP_H

#include <microhttpd.h>
#include <stdbool.h>

#define HTTP_FUNCTIONS(X)                                                                                              \
    X(MHD_add_response_header)                                                                                         \
    X(MHD_create_response_from_buffer)                                                                                 \
    X(MHD_destroy_response)                                                                                            \
    X(MHD_get_connection_info)                                                                                         \
    X(MHD_get_connection_values)                                                                                       \
    X(MHD_get_fdset2)                                                                                                  \
    X(MHD_get_timeout)                                                                                                 \
    X(MHD_lookup_connection_value)                                                                                     \
    X(MHD_queue_response)                                                                                              \
    X(MHD_quiesce_daemon)                                                                                              \
    X(MHD_resume_connection)                                                                                           \
    X(MHD_run)                                                                                                         \
    X(MHD_start_daemon)                                                                                                \
    X(MHD_stop_daemon)                                                                                                 \
    X(MHD_suspend_connection)

/* Its functions, by their own names; NULL before http_load(). */
struct http {
#define HTTP_MEMBER(name) __typeof__(name) *name;
    HTTP_FUNCTIONS(HTTP_MEMBER)
#undef HTTP_MEMBER
};

extern struct http http;

/* False, after a message, if the library isn't there. */
bool http_load(void);

#endif
