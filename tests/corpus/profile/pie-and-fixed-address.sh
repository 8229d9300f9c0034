#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Kind: PIE vs non-PIE addresses
# Report: https://github.com/perfgo/perfgo/pull/13
# Symptom: mapping offset and start do not fit the ELF type: every function is resolved to a wrong one
# Right: exit 0, stdout "ok"; three profiles of the same source built -pie, -no-pie and -no-pie linked at 0x10000000:
#     the address, less the mapping's start, plus its offset, led through the program headers, names layout_leaf in all
#     three; its neighbours pad_before and pad_after never appear.
#
# EXPECT timeout 10
# EXPECT func layout_leaf 100 7700 100 7700
# EXPECT unseen pad_before
# EXPECT unseen pad_after
# EXPECT profiles 3
. "$(dirname "$0")/../case.sh"

build() {
    cat >"$BIN.c" <<'C'
#include "tests/corpus/case.h"

#include <stdlib.h>

static void *k[100];

NOINLINE __attribute__((used)) static void pad_before(void) {
    void *p = malloc(1);
    KEEP(p);
}

NOINLINE static void *layout_leaf(void) {
    void *p = malloc(77);
    KEEP(p);
    return p;
}

NOINLINE __attribute__((used)) static void pad_after(void) {
    void *p = malloc(2);
    KEEP(p);
}

int main(void) {
    for (int i = 0; i < 100; i++)
        k[i] = layout_leaf();
    return 5;
}
C
    $CC -fPIE -pie "$BIN.c" -o "$BIN.pie" && $CC -fno-pie -no-pie "$BIN.c" -o "$BIN.nopie" &&
        $CC -fno-pie -no-pie -Wl,-Ttext-segment=0x10000000 "$BIN.c" -o "$BIN.high"
}

run() {
    # They are no family: each gets a name of its own.
    export CPROF_OUT="${CPROF_OUT:-}.%e"
    for kind in pie nopie high; do
        preloaded "$BIN.$kind"
        [ $? = 5 ] || fail "$kind did not end as it should"
    done
    echo ok
}

"$1"
