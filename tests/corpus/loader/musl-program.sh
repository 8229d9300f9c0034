#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Kind: another C library (musl): its loader takes libc.so.6 for itself, and loads libraries that were made for glibc
# Symptom: what only glibc has is missing when the tool calls it: the program crashes, or doesn't start
# Right: exit 0, stdout "ok": a program of musl's with threads, forks, realloc and an exec runs as without; nothing is
#     said, no profile comes of it, and the glibc program that it becomes is profiled. `cprof run` says that the first
#     one can't be.
#
# NEEDS command musl-gcc
# EXPECT timeout 20
# EXPECT profiles 1
. "$(dirname "$0")/../case.sh"

build() {
    musl-gcc -O1 -D_GNU_SOURCE "-I${0%/tests/*}" -x c - -o "$BIN.musl" <<'C'
#include "tests/corpus/case.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

static void *run(void *arg) {
    for (size_t i = 0; i < 2000; i++) {
        char *p = malloc(16 + i);
        memset(p, 1, 16 + i);
        p = realloc(p, 5000 + i);
        if (!p || p[15 + i] != 1)
            abort();
        free(p);
        p = aligned_alloc(64, 128);
        free(p);
        p = calloc(i, 3);
        free(p);
    }
    return arg;
}

int main(int argc, char **argv) {
    pthread_t t[2];
    int status = 0;
    for (int i = 0; i < 2; i++)
        pthread_create(&t[i], NULL, run, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], NULL);
    pid_t child = fork();
    if (child == 0) {
        run(NULL);
        _exit(3);
    }
    if (waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status) != 3)
        return 1;
    if (argc > 1)
        execv(argv[1], argv + 1);
    return 5;
}
C
}

run() {
    local said
    said=$(preloaded "$BIN.musl" 2>&1)
    [ $? = 5 ] || fail "it does not run: $said"
    [ -z "$said" ] || fail "it says: $said"
    said=$(preloaded "$BIN.musl" /bin/echo hello 2>&1)
    [ "$said" = hello ] || fail "what it becomes says: $said"
    if [ -n "${CPROF_LIB:-}" ]; then
        said=$("${CPROF_LIB%/*}/cprof" run -- "$BIN.musl" 2>&1)
        [[ $said == *musl* && $said != *$'\n'*$'\n'* ]] || fail "cprof run says: $said"
    fi
    echo ok
}

"$1"
