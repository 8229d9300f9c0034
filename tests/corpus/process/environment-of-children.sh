#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Kind: environment inheritance
# Symptom: the tool removes itself from the environment, or adds to it: children are not profiled, or find variables
#     that nobody set
# Right: exit 0, stdout "ok": what `env` prints with the library is what it was given; a child of a child has the same.
. "$(dirname "$0")/../case.sh"

build() { :; }

run() {
    local given seen
    given=$(/usr/bin/env | grep -v '^_=' | sort; echo "LD_PRELOAD=${CPROF_LIB:-}")
    seen=$(preloaded /usr/bin/env | grep -v '^_=' | sort)
    [ "$(sort <<<"$given")" = "$(sort <<<"$seen")" ] || fail "$(diff <(sort <<<"$given") <(sort <<<"$seen"))"
    seen=$(preloaded sh -c 'sh -c "env; true"; true' | grep -c '^LD_PRELOAD=')
    [ "$seen" = 1 ] || fail "LD_PRELOAD was there $seen times"
    echo ok
}

"$1"
