#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Kind: setuid / setgid binaries
# Report: https://github.com/jemalloc/jemalloc/issues/173
# Symptom: settings from the environment take effect in programs that run with more rights than the caller
# Right: exit 0, stdout "ok". A set-group-id program started by nobody runs (status 5) and makes no file where its
#     caller asked: the loader drops a preload with a slash, and a library that is loaded all the same (from a trusted
#     folder, or by /etc/ld.so.preload) must see AT_SECURE.
#
# NEEDS root
# NEEDS command setpriv
# EXPECT timeout 10
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
    local status made
    chmod 755 "$TMPDIR"
    mkdir "$TMPDIR/out" && chmod 777 "$TMPDIR/out" || exit
    cp "$BIN.bin" "$TMPDIR/program" && chgrp daemon "$TMPDIR/program" && chmod 2755 "$TMPDIR/program" || exit
    export CPROF_OUT=$TMPDIR/out/stolen
    preloaded setpriv --reuid nobody --regid nogroup --clear-groups "$TMPDIR/program" 2>/dev/null
    status=$?
    [ $status != 6 ] || skip "the file system ignores set-group-id"
    [ $status = 5 ] || fail "status $status"
    for made in "$TMPDIR/out"/*; do
        [ ! -e "$made" ] || [ "$(stat -c %G "$made")" != daemon ] || fail "made $made"
    done
    echo ok
}

"$1"
