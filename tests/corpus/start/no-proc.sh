#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Kind: start-up and end (/proc is not there)
# Symptom: a tool that learns everything from /proc/self crashes, waits or writes nothing in a container without it
# Right: exit 0, stdout "ok": with an empty file system over /proc the program runs as ever, and its profile is exact.
#
# NEEDS root
# NEEDS command unshare
# EXPECT func without_proc 200 20000 100 10000
# EXPECT mapping no-proc.bin
. "$(dirname "$0")/../case.sh"

build() {
    $CC -pthread -x c - -o "$BIN.bin" <<'C'
#include "tests/corpus/case.h"

#include <pthread.h>
#include <stdlib.h>

static void *held[100];

NOINLINE static void *without_proc(void) {
    void *p = malloc(100);
    KEEP(p);
    return p;
}

static void *run(void *unused) {
    for (int i = 0; i < 100; i++) {
        held[i] = without_proc();
        free(without_proc());
    }
    return unused;
}

int main(void) {
    pthread_t t;
    pthread_create(&t, NULL, run, NULL);
    pthread_join(t, NULL);
    return 5;
}
C
}

run() {
    unshare -m sh -c 'mount -t tmpfs none /proc' || skip "no mount namespaces"
    unshare -m bash -c 'mount -t tmpfs none /proc; LD_PRELOAD="$0" "$1"' "${CPROF_LIB:-}" "$BIN.bin"
    [ $? = 5 ] || fail "the program did not end as it should"
    echo ok
}

"$1"
