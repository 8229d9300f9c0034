#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Kind: full or read-only shared memory
# Symptom: /dev/shm is small in containers: what the tool keeps there does not fit, and writing to it is a SIGBUS
# Right: exit 0, stdout "ok": with /dev/shm of 64 KiB, of 1 MiB, read-only, and missing, a program with 30000 stacks
#     runs as ever, and all of it is in the profile.
#
# NEEDS root
# NEEDS command unshare
# EXPECT timeout 30
# EXPECT profiles 4
# EXPECT func without_shm 32768 1048576 0 0
. "$(dirname "$0")/../case.sh"

build() {
    $CC -x c - -o "$BIN.bin" <<'C'
#include "tests/corpus/case.h"

#include <stdlib.h>

NOINLINE static void *without_shm(void) {
    void *p = malloc(32);
    KEEP(p);
    return p;
}

NOINLINE static void *one(unsigned bits, int depth);

NOINLINE static void *zero(unsigned bits, int depth) {
    void *p = depth ? (bits & 1 ? one(bits >> 1, depth - 1) : zero(bits >> 1, depth - 1)) : without_shm();
    KEEP(p);
    return p;
}

NOINLINE static void *one(unsigned bits, int depth) {
    void *p = depth ? (bits & 1 ? one(bits >> 1, depth - 1) : zero(bits >> 1, depth - 1)) : without_shm();
    KEEP(p);
    return p;
}

int main(void) {
    for (unsigned i = 0; i < 32768; i++)
        free(zero(i, 15));
    return 5;
}
C
}

run() {
    local prepare
    unshare -m true || skip "no mount namespaces"
    export CPROF_OUT="${CPROF_OUT:-}.%p"
    for prepare in 'mount -t tmpfs -o size=64k none /dev/shm' 'mount -t tmpfs -o size=1m none /dev/shm' \
        'mount -t tmpfs -o ro none /dev/shm' 'mount -t tmpfs none /dev'; do
        unshare -m bash -c "$prepare && "'LD_PRELOAD="$0" "$1"' "${CPROF_LIB:-}" "$BIN.bin"
        [ $? = 5 ] || fail "after $prepare"
    done
    echo ok
}

"$1"
