#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Kind: non-UTF8 paths in the string table
# Report: https://github.com/grafana/pyroscope/pull/2620
# Symptom: profiles with a string that is not valid UTF-8 are rejected as a whole by the receiver
# Right: exit 0, stdout "ok". The program lives in a folder named with the bytes ff fe 80, a newline, a quote and a
#     backslash; argv[0] is such a name too. The profile is written, every string of it is valid UTF-8 (other bytes
#     become U+FFFD), and the newline in the line of /proc/self/maps (there \012) leads nobody astray.
#
# EXPECT timeout 10
# EXPECT profiles 1
# EXPECT mapping pr�g
. "$(dirname "$0")/../case.sh"

build() {
    $CC -x c - -o "$BIN.bin" <<'C'
#include "tests/corpus/case.h"

#include <stdlib.h>

static void *k[100];

NOINLINE static void *odd_path_leaf(void) {
    void *p = malloc(23);
    KEEP(p);
    return p;
}

int main(void) {
    for (int i = 0; i < 100; i++)
        k[i] = odd_path_leaf();
    return 5;
}
C
}

run() {
    local folder=$TMPDIR/$'\xff\xfe\x80 new\nline "q" \\b (deleted)'
    mkdir "$folder" && cp "$BIN.bin" "$folder/"$'pr\xc0g' || exit
    preloaded "$folder/"$'pr\xc0g'
    [ $? = 5 ] || fail "the program did not end as it should"
    echo ok
}

"$1"
