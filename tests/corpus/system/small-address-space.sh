#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Kind: limits (RLIMIT_AS, RLIMIT_DATA and RLIMIT_STACK, from the start)
# Symptom: what the tool reserves does not fit the limit: it aborts, or takes what the program needs
# Right: exit 0, stdout "ok": under limits of 24, 48 and 96 MiB of address space, of 16 MiB of data, of 128 KiB of
#     stack and of an unlimited one, the program gets the 4 MiB it needs, and ends as it should. At most one line says
#     that it is not profiled.
#
# EXPECT timeout 20
. "$(dirname "$0")/../case.sh"

build() {
    $CC -pthread -x c - -o "$BIN.bin" <<'C'
#include "tests/corpus/case.h"

#include <stdlib.h>
#include <string.h>

int main(void) {
    static char *held[64];
    for (int i = 0; i < 64; i++) {
        held[i] = malloc(65536);
        if (!held[i])
            return 1;
        memset(held[i], i, 65536);
    }
    for (size_t i = 0; i < 10000; i++) {
        void *p = malloc(16 + i % 1000);
        if (!p)
            return 2;
        free(p);
    }
    for (int i = 0; i < 64; i++)
        if (held[i][65535] != i)
            return 3;
    return 5;
}
C
}

limited() {
    (ulimit "$1" "$2" && preloaded "$BIN.bin") 2>"$TMPDIR/err"
    [ $? = 5 ] || fail "ulimit $1 $2: $(cat "$TMPDIR/err")"
    [ "$(wc -l <"$TMPDIR/err")" -le 1 ] || fail "ulimit $1 $2: $(cat "$TMPDIR/err")"
}

run() {
    limited -v 24576
    limited -v 49152
    limited -v 98304
    limited -d 16384
    limited -s 128
    limited -s unlimited
    echo ok
}

"$1"
