/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/serve_http.h"

#include "tools/tool.h"

#include <dlfcn.h>
#include <string.h>

#define LIBRARY "libmicrohttpd.so.12"

struct http http;

static bool find(void *library, const char *name, void *function) {
    void *found = dlsym(library, name);
    memcpy(function, &found, sizeof found);
    return found != NULL;
}

bool http_load(void) {
    void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        tool_error("serve", "needs libmicrohttpd; please install it (Debian: libmicrohttpd12): %s", dlerror());
        return false;
    }
#define FIND(function)                                                                                                 \
    if (!find(library, #function, &http.function)) {                                                                   \
        tool_error("serve", "%s is of another version: it has no %s", LIBRARY, #function);                             \
        return false;                                                                                                  \
    }
    HTTP_FUNCTIONS(FIND)
#undef FIND
    return true;
}
