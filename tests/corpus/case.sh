# SPDX-License-Identifier: Apache-2.0
# What the scripts of the corpus have in common. A script is called with "build" to make its programs, whose names begin with
# $BIN, and with "run" to use them. CPROF_LIB is empty in a plain run; TMPDIR is a fresh folder that is removed afterwards.

preloaded() {
    LD_PRELOAD="${CPROF_LIB:-}" "$@"
}

fail() {
    echo "$*" >&2
    exit 1
}

skip() {
    echo "$*" >&2
    exit 77
}
