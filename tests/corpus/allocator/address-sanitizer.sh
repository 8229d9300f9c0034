#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Kind: ASan co-use
# Report: https://github.com/google/sanitizers/issues/786
# Symptom: "ASan runtime does not come first": an instrumented program refuses to start with any other preload
# Right: exit 0, stdout "ok". With LD_PRELOAD="libasan.so:libcprof.so" the instrumented program runs clean, status 5,
#     and the sanitizer still finds the use after free of the second run (status 1). With only our library preloaded
#     the sanitizer itself stops the program, which is not ours to change; told not to (verify_asan_link_order=0) the
#     program must run: status 5.
#
# NEEDS link -fsanitize=address
# EXPECT timeout 60
. "$(dirname "$0")/../case.sh"

build() {
    $CC -fsanitize=address -x c - -o "$BIN.bin" <<'C'
#include "tests/corpus/case.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static void *run(void *a) {
    for (int i = 0; i < 1000; i++) {
        char *p = malloc(100 + i);
        memset(p, 1, 100 + i);
        p = realloc(p, 3000);
        free(p);
    }
    return a;
}

int main(int c, char **v) {
    pthread_t t[2];
    (void)v;
    for (int i = 0; i < 2; i++)
        pthread_create(&t[i], 0, run, 0);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], 0);
    if (c > 1) {
        volatile char *p = malloc(10);
        free((void *)p);
        return p[3];
    }
    return 5;
}
C
}

run() {
    local asan said
    asan=$(gcc -print-file-name=libasan.so)
    export ASAN_OPTIONS=detect_leaks=0
    if [ -z "${CPROF_LIB:-}" ]; then
        "$BIN.bin" || [ $? = 5 ] || fail "the clean run failed"
        "$BIN.bin" x 2>/dev/null
        [ $? = 1 ] || fail "the faulty run was not caught"
        echo ok
        return
    fi
    said=$(LD_PRELOAD="$asan:$CPROF_LIB" "$BIN.bin" 2>&1)
    [ $? = 5 ] || fail "the sanitizer first: $said"
    LD_PRELOAD="$asan:$CPROF_LIB" "$BIN.bin" x >/dev/null 2>&1
    [ $? = 1 ] || fail "the sanitizer missed the fault"
    said=$(ASAN_OPTIONS=detect_leaks=0:verify_asan_link_order=0 preloaded "$BIN.bin" 2>&1)
    [ $? = 5 ] || fail "the library first: $said"
    echo ok
}

"$1"
