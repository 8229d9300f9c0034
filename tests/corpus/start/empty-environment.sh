#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Kind: environment (nothing in it but LD_PRELOAD)
# Symptom: a tool that needs HOME, PATH, TMPDIR or settings of its own crashes, or writes where nobody looks
# Right: exit 0, stdout "ok": with an environment of only LD_PRELOAD the program runs as ever and leaves
#     cprof.NAME.PID.pb.gz in the folder it was started in; in a folder where nothing can be made it runs as ever, too,
#     and one line says what failed.
. "$(dirname "$0")/../case.sh"

build() {
    $CC -x c - -o "$BIN.bin" <<'C'
#include "tests/corpus/case.h"

#include <stdlib.h>

int main(void) {
    for (int i = 0; i < 1000; i++) {
        void *p = malloc(100);
        KEEP(p);
    }
    return 5;
}
C
}

run() {
    cd "$TMPDIR" || exit
    env -i ${CPROF_LIB:+LD_PRELOAD="$CPROF_LIB"} "$BIN.bin"
    [ $? = 5 ] || fail "the program did not end as it should"
    [ -z "${CPROF_LIB:-}" ] || ls cprof.empty-environment.bin.*.pb.gz >/dev/null || fail "no profile"
    cd /proc || exit
    env -i ${CPROF_LIB:+LD_PRELOAD="$CPROF_LIB"} "$BIN.bin" 2>"$TMPDIR/err"
    [ $? = 5 ] || fail "where nothing can be written, the program did not end as it should"
    [ -z "${CPROF_LIB:-}" ] || [ "$(wc -l <"$TMPDIR/err")" = 1 ] || fail "stderr: $(cat "$TMPDIR/err")"
    echo ok
}

"$1"
