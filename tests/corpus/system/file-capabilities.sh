#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Kind: setuid / setgid binaries (file capabilities)
# Symptom: a program with capabilities of its file runs with more rights than its caller, who tells the tool where to
#     write
# Right: exit 0, stdout "ok": such a program, started by nobody, runs (status 5) and makes no file where its caller
#     asked.
#
# NEEDS root
# NEEDS command setcap
# NEEDS command setpriv
. "$(dirname "$0")/../case.sh"

build() {
    $CC -x c - -o "$BIN.bin" <<'C'
#include "tests/corpus/case.h"

#include <stdlib.h>
#include <sys/auxv.h>

int main(void) {
    for (int i = 0; i < 100; i++) {
        void *p = malloc(100);
        KEEP(p);
        free(p);
    }
    return getauxval(AT_SECURE) ? 5 : 6;
}
C
}

run() {
    local status
    chmod 755 "$TMPDIR"
    mkdir "$TMPDIR/out" && chmod 777 "$TMPDIR/out" && cp "$BIN.bin" "$TMPDIR/program" || exit
    setcap cap_net_raw+ep "$TMPDIR/program" 2>/dev/null || skip "the file system has no capabilities"
    export CPROF_OUT=$TMPDIR/out/stolen.%e
    preloaded setpriv --reuid nobody --regid nogroup --clear-groups "$TMPDIR/program" 2>/dev/null
    status=$?
    [ $status != 6 ] || skip "the file system ignores capabilities"
    [ $status = 5 ] || fail "status $status"
    [ ! -e "$TMPDIR/out/stolen.program" ] || fail "it wrote where its caller said"
    echo ok
}

"$1"
