#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Kind: unwind tables and symbols as other linkers and options lay them out
# Symptom: mapping offsets, several executable segments, or unwind tables in another place: functions have wrong names
#     or no callers
# Right: exit 0, stdout "ok": the same program linked by gold, by lld (with and without --no-rosegment), with -z
#     noseparate-code, and without .eh_frame_hdr. Each profile names the function that allocates; all but the last have
#     its callers.
#
# NEEDS command ld.gold
# NEEDS command ld.lld
# EXPECT profiles 5
# EXPECT func laid_out 100 7700 100 7700
# EXPECT stack laid_out<-outer<-main
. "$(dirname "$0")/../case.sh"

build() {
    local flags="-Wl,--build-id"
    cat >"$BIN.c" <<'C'
#include "tests/corpus/case.h"

#include <stdlib.h>

static void *held[100];

NOINLINE static void *laid_out(void) {
    void *p = malloc(77);
    KEEP(p);
    return p;
}

NOINLINE static void outer(void) {
    for (int i = 0; i < 100; i++)
        held[i] = laid_out();
}

int main(void) {
    outer();
    return held[99] ? 5 : 1;
}
C
    $CC $flags -fuse-ld=gold "$BIN.c" -o "$BIN.gold" && $CC $flags -fuse-ld=lld "$BIN.c" -o "$BIN.lld" &&
        $CC $flags -fuse-ld=lld -Wl,--no-rosegment "$BIN.c" -o "$BIN.one-segment" &&
        $CC $flags -Wl,-z,noseparate-code "$BIN.c" -o "$BIN.mixed" &&
        $CC $flags -Wl,--no-eh-frame-hdr "$BIN.c" -o "$BIN.no-header"
}

run() {
    local kind
    export CPROF_OUT="${CPROF_OUT:-}.%e"
    for kind in gold lld one-segment mixed no-header; do
        preloaded "$BIN.$kind"
        [ $? = 5 ] || fail "$kind did not end as it should"
    done
    echo ok
}

"$1"
