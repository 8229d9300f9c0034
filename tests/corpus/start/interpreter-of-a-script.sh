#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Kind: start-up (the program is the interpreter of a script)
# Symptom: the executable's name is taken from what was asked to run: that is a script
# Right: exit 0, stdout "ok": a script begins with #! and a program of ours, which is given the script's name; the
#     profile is the program's.
#
# EXPECT profiles 1
# EXPECT func interpret 100 2900 100 2900
# EXPECT mapping interpreter
. "$(dirname "$0")/../case.sh"

build() {
    $CC -x c - -o "$BIN.bin" <<'C'
#include "tests/corpus/case.h"

#include <stdlib.h>
#include <string.h>

static void *held[100];

NOINLINE static void *interpret(void) {
    void *p = malloc(29);
    KEEP(p);
    return p;
}

int main(int argc, char **argv) {
    for (int i = 0; i < 100; i++)
        held[i] = interpret();
    return argc == 2 && strstr(argv[1], "some script") ? 5 : 1;
}
C
}

run() {
    cp "$BIN.bin" "$TMPDIR/interpreter" && echo "#!$TMPDIR/interpreter" >"$TMPDIR/some script" || exit
    chmod +x "$TMPDIR/some script"
    preloaded "$TMPDIR/some script"
    [ $? = 5 ] || fail "the script did not end as it should"
    echo ok
}

"$1"
