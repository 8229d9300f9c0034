#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Kind: deleted / replaced binaries
# Report: https://github.com/jemalloc/jemalloc/issues/2519
# Symptom: a library file that is deleted before the dump leaves frames that cannot be resolved, without a word
# Right: exit 0, stdout "ok". Program and plugin remove their own files after start. The mappings keep the plain paths
#     (no " (deleted)" tail) and the build ids, by which names can be found later; nothing fails or hangs because a
#     file cannot be opened.
#
# EXPECT timeout 10
# EXPECT mapping deleted-program
# EXPECT mapping deleted-plugin.so
. "$(dirname "$0")/../case.sh"

build() {
    $CC -shared -fPIC -x c - -o "$BIN.plugin.so" <<'C' || exit
#include "tests/corpus/case.h"

#include <stdlib.h>

static void *k[100];

NOINLINE static void *del_plugin_leaf(void) {
    void *p = malloc(32);
    KEEP(p);
    return p;
}

void plugin_go(void) {
    for (int i = 0; i < 100; i++)
        k[i] = del_plugin_leaf();
}
C
    $CC -x c - -o "$BIN.bin" <<'C'
#include "tests/corpus/case.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>

static void *k[100];

NOINLINE static void *del_main_leaf(void) {
    void *p = malloc(64);
    KEEP(p);
    return p;
}

int main(int c, char **v) {
    void *h = c > 1 ? dlopen(v[1], RTLD_NOW) : NULL;
    if (!h || unlink(v[1]) || unlink(v[0]))
        return 1;
    for (int i = 0; i < 100; i++)
        k[i] = del_main_leaf();
    ((void (*)(void))dlsym(h, "plugin_go"))();
    return 5;
}
C
}

run() {
    cp "$BIN.bin" "$TMPDIR/deleted-program" && cp "$BIN.plugin.so" "$TMPDIR/deleted-plugin.so" || exit
    preloaded "$TMPDIR/deleted-program" "$TMPDIR/deleted-plugin.so"
    [ $? = 5 ] || fail "the program did not end as it should"
    echo ok
}

"$1"
