#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Kind: start-up (LD_AUDIT together with the preload; static TLS before libc is ready)
# Report: https://github.com/jemalloc/jemalloc/issues/2472
# Symptom: with an audit library present the preloaded allocator crashes before main, in clock_gettime or TLS set-up
# Right: exit 0, stdout "ok": a do-nothing LD_AUDIT module and the preload live together, for a C program with threads
#     and for ls.
#
# EXPECT timeout 20
. "$(dirname "$0")/../case.sh"

build() {
    echo 'unsigned int la_version(unsigned int v) { return v; }' | $CC -shared -fPIC -x c - -o "$BIN.audit.so" || exit
    $CC -pthread -x c - -o "$BIN.bin" <<'C'
#include "tests/corpus/case.h"

#include <pthread.h>
#include <stdlib.h>

static __thread int t;

static void *run(void *a) {
    for (int i = 0; i < 100; i++) {
        void *p = malloc(100);
        KEEP(p);
        free(p);
        t++;
    }
    return a;
}

int main(void) {
    pthread_t h;
    pthread_create(&h, 0, run, 0);
    pthread_join(h, 0);
    run(0);
    return t == 100 ? 5 : 1;
}
C
}

run() {
    local listed
    export LD_AUDIT="$BIN.audit.so"
    preloaded "$BIN.bin"
    [ $? = 5 ] || fail "a program with threads did not end as it should"
    listed=$(preloaded ls -d / 2>&1)
    [ "$listed" = / ] || fail "ls: $listed"
    echo ok
}

"$1"
