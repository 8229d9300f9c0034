#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Kind: start-up (a second preloaded wrapper of malloc)
# Symptom: two preloaded libraries that wrap malloc by RTLD_NEXT take each other for the allocator: endless recursion,
#     or one sees nothing
# Right: exit 0, stdout "ok": with another wrapper before and behind, the program runs, the wrapper counts the 1000
#     blocks either way, and they are in both profiles.
#
# EXPECT profiles 2
# EXPECT func between_wrappers 1000..1000 100000..100000 0 0 | 0 0 0 0
. "$(dirname "$0")/../case.sh"

build() {
    $CC -shared -fPIC -x c - -o "$BIN.wrapper.so" <<'C' || exit
#include <dlfcn.h>
#include <stdlib.h>

long wrapper_calls;
static void *(*next_malloc)(size_t);
static void (*next_free)(void *);

void *malloc(size_t n) {
    if (!next_malloc)
        next_malloc = (void *(*)(size_t))dlsym(RTLD_NEXT, "malloc");
    wrapper_calls += n == 100;
    return next_malloc(n);
}

void free(void *p) {
    if (!next_free)
        next_free = (void (*)(void *))dlsym(RTLD_NEXT, "free");
    next_free(p);
}
C
    $CC -x c - -o "$BIN.bin" <<'C'
#include "tests/corpus/case.h"

#include <dlfcn.h>
#include <stdlib.h>

NOINLINE static void *between_wrappers(void) {
    void *p = malloc(100);
    KEEP(p);
    return p;
}

int main(void) {
    for (int i = 0; i < 1000; i++)
        free(between_wrappers());
    long *calls = dlsym(RTLD_DEFAULT, "wrapper_calls");
    return calls && *calls == 1000 ? 5 : 1;
}
C
}

run() {
    export CPROF_OUT="${CPROF_OUT:-}.%p"
    LD_PRELOAD="$BIN.wrapper.so" "$BIN.bin"
    [ $? = 5 ] || fail "the wrapper alone does not work"
    [ -z "${CPROF_LIB:-}" ] || LD_PRELOAD="$BIN.wrapper.so:$CPROF_LIB" "$BIN.bin" || [ $? = 5 ] || fail "wrapper first"
    [ -z "${CPROF_LIB:-}" ] || LD_PRELOAD="$CPROF_LIB:$BIN.wrapper.so" "$BIN.bin" || [ $? = 5 ] || fail "wrapper behind"
    echo ok
}

"$1"
