#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Kind: start-up (the program is an argument of the loader)
# Symptom: the main program's name and mapping are taken from /proc/self/exe, which is the loader then
# Right: exit 0, stdout "ok": started as `ld.so --preload library program`, and by LD_PRELOAD, the program is the first
#     mapping and its function is named.
#
# EXPECT profiles 2
# EXPECT func by_loader 100 3100 100 3100
# EXPECT mapping loader-as-command.bin
. "$(dirname "$0")/../case.sh"

build() {
    $CC -x c - -o "$BIN.bin" <<'C'
#include "tests/corpus/case.h"

#include <stdlib.h>

static void *held[100];

NOINLINE static void *by_loader(void) {
    void *p = malloc(31);
    KEEP(p);
    return p;
}

int main(void) {
    for (int i = 0; i < 100; i++)
        held[i] = by_loader();
    return 5;
}
C
}

run() {
    export CPROF_OUT="${CPROF_OUT:-}.%p"
    preloaded /lib64/ld-linux-x86-64.so.2 "$BIN.bin"
    [ $? = 5 ] || fail "by LD_PRELOAD"
    /lib64/ld-linux-x86-64.so.2 --preload "${CPROF_LIB:-}" "$BIN.bin"
    [ $? = 5 ] || fail "by --preload"
    echo ok
}

"$1"
