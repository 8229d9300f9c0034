/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/explain_preload.h"

#include "tools/explain_elf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool explain_is_allocator(const char *library) {
    static const char *const known[] = {"libjemalloc.so", "libtcmalloc", "libmimalloc.so"};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (strncmp(library, known[i], strlen(known[i])) == 0)
            return true;
    return false;
}

static const char *base_of(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static bool find_in(const char *directories, const char *name, char path[PATH_MAX]) {
    for (const char *at = directories; *at; at += strspn(at, ":;")) {
        size_t len = strcspn(at, ":;");
        if (snprintf(path, PATH_MAX, "%.*s/%s", (int)len, at, name) < PATH_MAX && access(path, R_OK) == 0)
            return true;
        at += len;
    }
    return false;
}

/* Where the loader finds it, unless ld.so.conf names other directories. */
static bool find_file(const char *name, char path[PATH_MAX]) {
    const char *first = getenv("LD_LIBRARY_PATH");
    if (strchr(name, '/'))
        return snprintf(path, PATH_MAX, "%s", name) < PATH_MAX && access(path, R_OK) == 0;
    return (first && find_in(first, name, path)) ||
           find_in("/lib/x86_64-linux-gnu:/usr/lib/x86_64-linux-gnu:/lib64:/usr/lib64:/lib:/usr/lib:/usr/local/lib", name, path);
}

static bool serves_malloc(const char *name) {
    char path[PATH_MAX];
    struct elf_facts *facts = find_file(name, path) ? malloc(sizeof *facts) : NULL;
    bool serves = facts && elf_facts_read(facts, path) == 0 ? facts->malloc_exported : explain_is_allocator(base_of(name));
    free(facts);
    return serves;
}

enum preload_place explain_preload(char name[PATH_MAX]) {
    const char *list = getenv("LD_PRELOAD");
    char one[PATH_MAX];
    bool found = false;
    for (const char *at = list ? list : ""; *at; at += strspn(at, ": ")) {
        size_t len = strcspn(at, ": ");
        snprintf(one, sizeof one, "%.*s", (int)len, at);
        at += len;
        if (strcmp(base_of(one), "libcprof.so") == 0) {
            if (found)
                return PRELOAD_BEFORE;
        } else if (!found && serves_malloc(one)) {
            strcpy(name, one);
            found = true;
        }
    }
    return found ? PRELOAD_BEHIND : PRELOAD_NONE;
}
