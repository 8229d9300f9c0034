#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Kind: non-UTF8 paths in the string table (very long paths, spaces)
# Report: https://github.com/koute/bytehound/issues/55
# Symptom: a line longer than the writer's buffer trips an assertion: "message doesn't fit into buffer"
# Right: exit 0, stdout "ok". The program is at a path of about 3900 bytes (folders of 200 bytes with spaces), so a
#     line of /proc/self/maps has over 4000 bytes: it is read whole, and the next lines are not misread.
#
# EXPECT timeout 10
# EXPECT func far_leaf 100 2900 100 2900
. "$(dirname "$0")/../case.sh"

build() {
    $CC -x c - -o "$BIN.bin" <<'C'
#include "tests/corpus/case.h"

#include <stdlib.h>

static void *k[100];

NOINLINE static void *far_leaf(void) {
    void *p = malloc(29);
    KEEP(p);
    return p;
}

int main(void) {
    for (int i = 0; i < 100; i++)
        k[i] = far_leaf();
    return 5;
}
C
}

run() {
    # What begins like a line of /proc/self/maps must not be taken for one.
    local part path=$TMPDIR
    part="0x7f00-0x7fff r-xp 00000000 00:00 0 $(printf 'd%.0s' $(seq 1 160))"
    cd "$TMPDIR" || exit
    while [ ${#path} -lt 3700 ]; do
        mkdir "$part" && cd "$part" || exit
        path="$path/$part"
    done
    cp "$BIN.bin" "./far program" || exit
    preloaded "$path/far program"
    [ $? = 5 ] || fail "the program did not end as it should"
    echo ok
}

"$1"
