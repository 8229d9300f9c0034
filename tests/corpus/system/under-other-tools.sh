#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Kind: other tools at the same time (gdb, strace, valgrind)
# Symptom: a tool that traces the program, or replaces its allocator in turn, and the profiler do not live together
# Right: exit 0, stdout "ok": the program ends as it should under gdb, strace -f and valgrind, whichever are there,
#     with the library preloaded into it.
#
# EXPECT timeout 60
. "$(dirname "$0")/../case.sh"

build() {
    $CC -pthread -x c - -o "$BIN.bin" <<'C'
#include "tests/corpus/case.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static void *run(void *arg) {
    for (size_t i = 0; i < 200; i++) {
        char *p = malloc(16 + i);
        KEEP(p);
        memset(p, 1, 16 + i);
        p = realloc(p, 500);
        KEEP(p);
        free(p);
    }
    return arg;
}

int main(void) {
    pthread_t t;
    pthread_create(&t, NULL, run, NULL);
    pthread_join(t, NULL);
    run(NULL);
    return 5;
}
C
}

run() {
    local said
    if command -v gdb >/dev/null; then
        said=$(gdb -batch -nx -ex "set environment LD_PRELOAD ${CPROF_LIB:-}" -ex 'set startup-with-shell off' -ex run \
            "$BIN.bin" 2>&1)
        [[ $said == *"exited with code 05"* ]] || fail "gdb: $said"
    fi
    if command -v strace >/dev/null; then
        strace -f -o /dev/null -E LD_PRELOAD="${CPROF_LIB:-}" "$BIN.bin"
        [ $? = 5 ] || fail "strace"
    fi
    if command -v valgrind >/dev/null; then
        said=$(preloaded valgrind -q "$BIN.bin" 2>&1)
        [ $? = 5 ] || fail "valgrind: ${said:0:2000}"
    fi
    echo ok
}

"$1"
