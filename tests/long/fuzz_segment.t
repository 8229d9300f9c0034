#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Fuzzes what reads segments, for FUZZ_SECONDS (120), with address and undefined-behaviour sanitizers. Needs clang.
cd "$(dirname "$0")/../.." || exit 1
out=build/fuzz
clang=${CLANG:-clang}
mkdir -p $out/corpus $out/gen
if ! command -v "$clang" > /dev/null ||
    ! echo 'int LLVMFuzzerTestOneInput(const char *p, long n) { return p[0] * 0 + n * 0; }' |
    "$clang" -fsanitize=fuzzer -x c -o $out/try - 2> /dev/null; then
    echo "1..0 # SKIP there is no clang with libFuzzer"
    exit 0
fi
proto=$(ls proto/*.c)
tools=$(ls tools/segment*.c tools/live.c tools/live_names.c tools/symbolize*.c tools/demangle.c tools/pattern*.c)
protoc-c --c_out=$out/gen proto/profile.proto &&
    # shellcheck disable=SC2046,SC2086
    "$clang" -std=gnu11 -g -O1 -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=undefined -D_GNU_SOURCE \
        -DCPROF_VERSION='"fuzz"' -I. -I$out/gen $(pkg-config --cflags libprotobuf-c zlib libdw libdeflate) -w -o $out/segment \
        tests/fuzz/segment.c tests/unit/proto_segment.c $proto $tools tools/load.c tools/save.c tools/tool.c \
        $out/gen/proto/profile.pb-c.c $(pkg-config --libs libprotobuf-c zlib libdw libdeflate) -lelf -liberty -lm \
        > $out/build.log 2>&1
if [ $? -ne 0 ]; then
    sed 's/^/# /' $out/build.log >&2
    echo "not ok 1 - the fuzz target is built"
    echo "1..1"
    exit 1
fi
echo "ok 1 - the fuzz target is built"
if $out/segment -max_total_time="${FUZZ_SECONDS:-120}" -max_len=384 -timeout=10 -artifact_prefix=$out/ $out/corpus \
    > $out/run.log 2>&1; then
    echo "ok 2 - nothing found in $(sed -n 's/^Done \([0-9]*\) runs.*/\1/p' $out/run.log) runs"
    echo "1..2"
    exit 0
fi
tail -40 $out/run.log | sed 's/^/# /' >&2
echo "not ok 2 - something found: see $out/run.log"
echo "1..2"
exit 1
