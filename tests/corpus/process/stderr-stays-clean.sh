#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Kind: exec chains and environment inheritance (noise of the profiler in captured output)
# Report: https://github.com/gperftools/gperftools/issues/1116
# Symptom: every child prints "starting / dumping / failed dumping" lines on stderr, which scripts capture
# Right: exit 0, stdout "ok": a configure-like test that fails when the compiler or a tool prints anything on stderr
#     passes; nothing is printed unless something is wrong, and then one line: here, that the file cannot be written.
#
# EXPECT timeout 60
. "$(dirname "$0")/../case.sh"

build() { :; }

run() {
    local said
    echo 'int main(void) { return 0; }' >"$TMPDIR/a.c"
    said=$(preloaded gcc -c "$TMPDIR/a.c" -o "$TMPDIR/a.o" 2>&1) || fail "gcc failed: $said"
    [ -z "$said" ] || fail "gcc said: $said"
    said=$(preloaded sh -c 'ls /dev/null >/dev/null; true | cat' 2>&1)
    [ -z "$said" ] || fail "sh said: $said"
    said=$(CPROF_OUT=/nonexistent/x/y.pb.gz preloaded /bin/true 2>&1) || fail "true failed: $said"
    [ "$(wc -l <<<"$said")" -le 1 ] || fail "more than one line: $said"
    echo ok
}

"$1"
