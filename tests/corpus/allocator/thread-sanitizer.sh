#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Kind: sanitizers (ThreadSanitizer, UndefinedBehaviorSanitizer)
# Symptom: a sanitizer's own allocator and interceptors meet the tool's: crash at start, or reports about the tool
# Right: exit 0, stdout "ok": programs built with either run clean, status 5, with the library preloaded before and,
#     for the first, behind the sanitizer's.
#
# NEEDS link -fsanitize=thread
# NEEDS link -fsanitize=undefined
# EXPECT timeout 30
. "$(dirname "$0")/../case.sh"

build() {
    cat >"$BIN.c" <<'C'
#include "tests/corpus/case.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static void *run(void *arg) {
    for (size_t i = 0; i < 1000; i++) {
        char *p = malloc(100 + i);
        KEEP(p);
        memset(p, 1, 100 + i);
        p = realloc(p, 3000);
        KEEP(p);
        free(p);
    }
    return arg;
}

int main(void) {
    pthread_t t[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&t[i], NULL, run, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], NULL);
    return 5;
}
C
    $CC -pthread -fsanitize=thread "$BIN.c" -o "$BIN.thread" &&
        $CC -pthread -fsanitize=undefined "$BIN.c" -o "$BIN.undefined"
}

run() {
    local said tsan
    tsan=$(gcc -print-file-name=libtsan.so)
    "$BIN.thread" 2>/dev/null
    [ $? = 5 ] || skip "ThreadSanitizer does not run here"
    said=$(preloaded "$BIN.undefined" 2>&1)
    [ $? = 5 ] || fail "undefined behaviour: $said"
    said=$(preloaded "$BIN.thread" 2>&1)
    [ $? = 5 ] || fail "threads: $said"
    if [ -n "${CPROF_LIB:-}" ]; then
        said=$(LD_PRELOAD="$tsan:$CPROF_LIB" "$BIN.thread" 2>&1)
        [ $? = 5 ] || fail "the sanitizer first: $said"
    fi
    echo ok
}

"$1"
