#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Kind: very long names (an executable's of 255 bytes)
# Symptom: the name of the output, or of the temporary file, is longer than the file system takes
# Right: exit 0, stdout "ok": a program whose name has 255 bytes runs as ever; with a template that holds its name at
#     most one line says what failed, and with another the profile is there.
#
# EXPECT func with_longest_name 100 2600 100 2600
. "$(dirname "$0")/../case.sh"

build() {
    $CC -x c - -o "$BIN.bin" <<'C'
#include "tests/corpus/case.h"

#include <stdlib.h>

static void *held[100];

NOINLINE static void *with_longest_name(void) {
    void *p = malloc(26);
    KEEP(p);
    return p;
}

int main(void) {
    for (int i = 0; i < 100; i++)
        held[i] = with_longest_name();
    return 5;
}
C
}

run() {
    local name
    name=$(printf 'n%.0s' $(seq 1 255))
    cp "$BIN.bin" "$TMPDIR/$name" || exit
    CPROF_OUT="$TMPDIR/out.%e.%p.pb.gz" preloaded "$TMPDIR/$name" 2>"$TMPDIR/err"
    [ $? = 5 ] || fail "with its name in the output's"
    [ "$(wc -l <"$TMPDIR/err")" -le 1 ] || fail "stderr: $(cat "$TMPDIR/err")"
    CPROF_OUT="$TMPDIR/prof.%p" preloaded "$TMPDIR/$name"
    [ $? = 5 ] || fail "with another output"
    echo ok
}

"$1"
