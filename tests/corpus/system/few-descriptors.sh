#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Kind: limits (RLIMIT_NOFILE, from the start)
# Symptom: the tool needs more descriptors at start than the loader itself, or runs on without saying why it does
#     nothing
# Right: exit 0, stdout "ok": with a limit of 4 descriptors, which is what the loader needs, and one that the program
#     sets to 3 for itself, it runs as ever.
#
# EXPECT timeout 20
. "$(dirname "$0")/../case.sh"

build() {
    $CC -x c - -o "$BIN.bin" <<'C'
#include "tests/corpus/case.h"

#include <stdlib.h>
#include <sys/resource.h>

int main(int argc, char **argv) {
    struct rlimit none = {3, 3};
    (void)argv;
    if (argc > 1 && setrlimit(RLIMIT_NOFILE, &none))
        return 1;
    for (size_t i = 0; i < 10000; i++) {
        void *p = malloc(16 + i % 1000);
        KEEP(p);
        free(p);
    }
    return say_ok() ? 2 : 5;
}
C
}

run() {
    local out
    out=$(ulimit -n 4 && preloaded "$BIN.bin" 3>&- 4>&-)
    [ $? = 5 ] || fail "with 4 descriptors"
    [ "$out" = ok ] || fail "with 4 descriptors it printed $out"
    out=$(preloaded "$BIN.bin" 3)
    [ $? = 5 ] || fail "with 3 descriptors"
    [ "$out" = ok ] || fail "with 3 descriptors it printed $out"
    echo ok
}

"$1"
