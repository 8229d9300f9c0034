#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Kind: start-up (the library preloaded twice, from two places, without its other half)
# Symptom: two copies of the hooks call each other, or write one file; a half installation ends the program
# Right: exit 0, stdout "ok": preloaded twice by one name, by two names, by a relative one, and from a folder where its
#     other parts are missing, the program runs as ever; at most one line says that it is not profiled.
#
# EXPECT timeout 20
. "$(dirname "$0")/../case.sh"

build() {
    $CC -x c - -o "$BIN.bin" <<'C'
#include "tests/corpus/case.h"

#include <stdlib.h>

int main(void) {
    for (size_t i = 0; i < 3000; i++) {
        void *p = malloc(16 + i);
        KEEP(p);
        p = realloc(p, 5000);
        KEEP(p);
        free(p);
    }
    return 5;
}
C
}

try() {
    (cd "$TMPDIR" && LD_PRELOAD="$1" "$BIN.bin") 2>"$TMPDIR/err"
    [ $? = 5 ] || fail "LD_PRELOAD=$1: $(cat "$TMPDIR/err")"
    [ "$(wc -l <"$TMPDIR/err")" -le 1 ] || fail "LD_PRELOAD=$1: $(cat "$TMPDIR/err")"
}

run() {
    local folder
    [ -n "${CPROF_LIB:-}" ] || { "$BIN.bin"; [ $? = 5 ] && echo ok; return; }
    folder=$(dirname "$CPROF_LIB")
    mkdir "$TMPDIR/whole" "$TMPDIR/half"
    cp "$folder"/libcprof*.so "$TMPDIR/whole" && cp "$CPROF_LIB" "$TMPDIR/half" || exit
    try "$CPROF_LIB:$CPROF_LIB"
    try "$CPROF_LIB:$TMPDIR/whole/libcprof.so"
    try "whole/libcprof.so"
    try "half/libcprof.so"
    [ -s "$TMPDIR/err" ] || fail "nothing was said about the missing part"
    echo ok
}

"$1"
