#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Kind: start-up (the preload's own symbols)
# Report: https://github.com/KDE/heaptrack/pull/43
# Symptom: "symbol lookup error ... undefined symbol" of the preload, sometimes only when the function is first called
# Right: exit 0, stdout "ok". With LD_BIND_NOW=1 (all symbols at once), for C and C++ programs and for a program that
#     links nothing but libc. The library exports the allocation family (and what it documents), nothing else: in
#     particular no _Unwind_*, unw_*, __register_frame*, inflate/deflate, dl_iterate_phdr or main.
#
# EXPECT timeout 20
. "$(dirname "$0")/../case.sh"

build() { :; }

run() {
    local said foreign
    export LD_BIND_NOW=1
    preloaded /bin/true || fail "true failed"
    preloaded g++ --version >/dev/null || fail "g++ failed"
    said=$(preloaded ls / 2>&1 >/dev/null)
    [ -z "$said" ] || fail "ls said: $said"
    if [ -n "${CPROF_LIB:-}" ]; then
        said=$(ldd -r "$CPROF_LIB" 2>&1 | grep -i 'undefined symbol')
        [ -z "$said" ] || fail "$said"
        foreign=$(nm -D --defined-only "$CPROF_LIB" | awk '{print $NF}' | grep -E \
            '^(_Unwind_|unw_|_U?L?x86_64_|__register_frame|inflate|deflate|crc32|dl_iterate_phdr$|main$)')
        [ -z "$foreign" ] || fail "exports $foreign"
    fi
    echo ok
}

"$1"
