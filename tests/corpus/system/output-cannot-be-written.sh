#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Kind: read-only or full output directory (/dev/full and others)
# Report: https://github.com/bloomberg/memray/issues/116
# Symptom: when the disk fills up the tracked program is killed (SIGBUS)
# Right: exit 0, stdout "ok": with the output set to /dev/full, to a folder that does not exist, to a folder, to a name
#     of 5000 bytes, to "" and to a full 64 KiB tmpfs (as root), the program's exit status (5) and its own output are
#     unchanged, one line says what failed, and no temporary files stay behind.
#
# EXPECT timeout 30
. "$(dirname "$0")/../case.sh"

build() {
    $CC -x c - -o "$BIN.bin" <<'C'
#include "tests/corpus/case.h"

#include <stdlib.h>
#include <unistd.h>

NOINLINE static void *x(unsigned b, int d);

NOINLINE static void *y(unsigned b, int d) {
    void *p = d ? (b & 1 ? x(b >> 1, d - 1) : y(b >> 1, d - 1)) : malloc(1000);
    KEEP(p);
    return p;
}

NOINLINE static void *x(unsigned b, int d) {
    void *p = d ? (b & 1 ? y(b >> 1, d - 1) : x(b >> 1, d - 1)) : malloc(1000);
    KEEP(p);
    return p;
}

int main(void) {
    for (unsigned i = 0; i < 4096; i++) {
        void *p = x(i, 12);
        KEEP(p);
    }
    return write(1, "out\n", 4) == 4 ? 5 : 1;
}
C
}

try() {
    local out status
    out=$(CPROF_OUT=$1 preloaded "$BIN.bin" 2>"$TMPDIR/err")
    status=$?
    [ $status = 5 ] && [ "$out" = out ] || fail "output '${1:0:60}': status $status, printed '$out'"
    [ "$(wc -l <"$TMPDIR/err")" -le 1 ] || fail "output '${1:0:60}': more than one line on stderr"
}

run() {
    mkdir "$TMPDIR/dir" "$TMPDIR/small"
    try /dev/full
    try "$TMPDIR/none/such/file"
    try "$TMPDIR/dir"
    try "$TMPDIR/$(printf 'n%.0s' $(seq 1 5000))"
    try ""
    [ -z "$(ls -A "$TMPDIR/dir")" ] || fail "left behind: $(ls -A "$TMPDIR/dir")"
    [ -c /dev/full ] || fail "/dev/full was replaced"
    if mount -t tmpfs -o size=64k tmpfs "$TMPDIR/small" 2>/dev/null; then
        trap 'umount "$TMPDIR/small"' EXIT
        dd if=/dev/zero of="$TMPDIR/small/fill" bs=1k count=60 2>/dev/null
        try "$TMPDIR/small/prof"
        [ -z "$(ls -A "$TMPDIR/small" | grep -vx 'fill\|prof')" ] || fail "left behind: $(ls -A "$TMPDIR/small")"
    fi
    echo ok
}

"$1"
