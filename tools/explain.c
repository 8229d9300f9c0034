/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/explain.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

static void conclude(struct explanation *e, enum explain_verdict verdict, const char *reason) {
    e->verdict = verdict;
    snprintf(e->reason, sizeof e->reason, "%s", reason);
}

/* As execvp does: a file that may not be executed is passed over, and remembered. */
static int find(const char *name, char path[PATH_MAX]) {
    char standard[256];
    int error = ENOENT;
    struct stat st;
    if (name[0] == '\0')
        return ENOENT;
    if (strchr(name, '/')) {
        if (strlen(name) >= PATH_MAX)
            return ENAMETOOLONG;
        strcpy(path, name);
        if (stat(path, &st) != 0)
            return errno;
        return S_ISDIR(st.st_mode) ? EISDIR : access(path, X_OK) == 0 ? 0 : errno;
    }
    const char *dirs = getenv("PATH");
    if (!dirs) {
        confstr(_CS_PATH, standard, sizeof standard);
        dirs = standard;
    }
    for (const char *dir = dirs;; dir++) {
        size_t len = strcspn(dir, ":");
        int n = len == 0 ? snprintf(path, PATH_MAX, "./%s", name)
                         : snprintf(path, PATH_MAX, "%.*s/%s", (int)len, dir, name);
        if (n < PATH_MAX && stat(path, &st) == 0 && S_ISREG(st.st_mode)) {
            if (access(path, X_OK) == 0)
                return 0;
            error = errno;
        }
        dir += len;
        if (*dir == '\0')
            return error;
    }
}

const char *explain_privileged(const char *path) {
    struct stat st;
    struct statvfs fs;
    char capabilities[64];
    if (stat(path, &st) != 0 || (statvfs(path, &fs) == 0 && (fs.f_flag & ST_NOSUID)) ||
        prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1)
        return NULL;
    if ((st.st_mode & S_ISUID) && st.st_uid != getuid())
        return "setuid";
    if ((st.st_mode & S_ISGID) && (st.st_mode & S_IXGRP) && st.st_gid != getgid())
        return "setgid";
    if (getuid() != 0 && getxattr(path, "security.capability", capabilities, sizeof capabilities) > 0)
        return "has capabilities";
    return NULL;
}

/* The interpreter that the first line of a script names. Returns 1, 0 if it is no script, or -1 if it can't be read. */
static int read_script(const char *path, char interpreter[PATH_MAX]) {
    char line[256];
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    ssize_t n = fd < 0 ? -1 : read(fd, line, sizeof line - 1);
    if (fd >= 0)
        close(fd);
    if (n < 0)
        return -1;
    line[n] = '\0';
    if (n < 3 || line[0] != '#' || line[1] != '!')
        return 0;
    const char *at = line + 2 + strspn(line + 2, " \t");
    size_t len = strcspn(at, " \t\r\n");
    if (len == 0)
        return 0;
    snprintf(interpreter, PATH_MAX, "%.*s", (int)len, at);
    return 1;
}

/* What stands in the way of a program that was found. */
static void judge(struct explanation *e) {
    const struct elf_facts *elf = &e->elf;
    const char *privileged = explain_privileged(e->program);
    const char *loader = strrchr(elf->interpreter, '/');
    if (privileged) {
        conclude(e, EXPLAIN_UNSEEN, privileged);
        strncat(e->reason, ": the loader then takes no library from its caller",
                sizeof e->reason - strlen(e->reason) - 1);
    } else if (!elf->is_elf) {
        return; /* execvp gives it to a shell, or the kernel to what is registered for it */
    } else if (!elf->is_program) {
        conclude(e, EXPLAIN_CANNOT, "not a program");
    } else if (!elf->is_native) {
        snprintf(e->reason, sizeof e->reason, "%s, and the library is for x86-64", elf->kind);
        e->verdict = EXPLAIN_UNSEEN;
    } else if (!loader) {
        conclude(e, EXPLAIN_UNSEEN,
                 elf->is_go ? "linked statically, as Go programs are: Go's own profiler sees it"
                            : "linked statically: no loader takes in the library");
    } else if (strncmp(loader + 1, "ld-musl", 7) == 0) {
        conclude(e, EXPLAIN_UNSEEN, "linked with musl: a library for glibc can't be loaded there");
    } else if (elf->sanitized) {
        conclude(e, EXPLAIN_UNSEEN, "built with a sanitizer, which allocates by itself");
    } else if (elf_facts_needs(elf, "libasan.so")) {
        conclude(e, EXPLAIN_UNSEEN, "built with a sanitizer, which wants to be the first and allocates by itself");
    }
}

void explain_program(struct explanation *e, const char *name) {
    memset(e, 0, sizeof *e);
    int error = find(name, e->path);
    if (error != 0) {
        bool missing = error == ENOENT || error == ENOTDIR;
        conclude(e, missing ? EXPLAIN_MISSING : EXPLAIN_CANNOT, missing ? "not found" : strerror(error));
        return;
    }
    strcpy(e->program, e->path);
    for (char interpreter[PATH_MAX]; read_script(e->program, interpreter) == 1;) {
        if (e->script_count == EXPLAIN_SCRIPTS_MAX) {
            conclude(e, EXPLAIN_CANNOT, strerror(ELOOP));
            return;
        }
        strcpy(e->scripts[e->script_count++], e->program);
        strcpy(e->program, interpreter);
        if (access(interpreter, X_OK) != 0) {
            snprintf(e->reason, sizeof e->reason, "its interpreter %.150s: %s", interpreter, strerror(errno));
            e->verdict = EXPLAIN_CANNOT;
            return;
        }
    }
    /* A program may be executed that may not be read. */
    if (elf_facts_read(&e->elf, e->program) == 0)
        judge(e);
    if (e->verdict == EXPLAIN_UNSEEN && e->script_count > 0) {
        char reason[sizeof e->reason];
        strcpy(reason, e->reason);
        snprintf(e->reason, sizeof e->reason, "its interpreter %.90s: %.120s", e->program, reason);
    }
}

bool explain_is_env(const struct explanation *e) {
    const char *slash = strrchr(e->program, '/');
    return e->script_count > 0 && strcmp(slash ? slash + 1 : e->program, "env") == 0;
}

static bool find_library(char path[PATH_MAX]) {
    static const char *const places[] = {"libcprof.so", "../lib/cprof/libcprof.so", "../lib/libcprof.so"};
    char here[PATH_MAX], candidate[PATH_MAX];
    const char *given = getenv("CPROF_LIB");
    if (given && given[0]) {
        snprintf(path, PATH_MAX, "%s", given);
        return realpath(given, candidate) && strcpy(path, candidate) && access(path, R_OK) == 0;
    }
    ssize_t n = readlink("/proc/self/exe", here, sizeof here - 1);
    here[n > 0 ? n : 0] = '\0';
    char *base = strrchr(here, '/');
    if (base)
        base[1] = '\0';
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        if (snprintf(candidate, sizeof candidate, "%s%s", here, places[i]) < (int)sizeof candidate &&
            realpath(candidate, path) && access(path, R_OK) == 0)
            return true;
    }
    snprintf(path, PATH_MAX, "libcprof.so");
    return false;
}

bool explain_library(char path[PATH_MAX], char reason[EXPLAIN_REASON_MAX]) {
    char backend[PATH_MAX + 32];
    if (!find_library(path)) {
        snprintf(reason, EXPLAIN_REASON_MAX, "the library isn't there; CPROF_LIB says where it is");
        return false;
    }
    if (strpbrk(path, ": ")) {
        snprintf(reason, EXPLAIN_REASON_MAX, "LD_PRELOAD can't have a colon or a space in a path");
        return false;
    }
    snprintf(backend, sizeof backend, "%.*s/libcprof-backend.so", (int)(strrchr(path, '/') - path), path);
    if (access(backend, R_OK) != 0) {
        snprintf(reason, EXPLAIN_REASON_MAX, "libcprof-backend.so isn't there beside it");
        return false;
    }
    return true;
}
