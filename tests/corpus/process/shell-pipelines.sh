#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Kind: exec chains and environment inheritance (bash with subshells; program with its own malloc habits)
# Report: https://github.com/koute/bytehound/issues/124
# Symptom: a shell script that captures a subshell's output dies with a segmentation fault under the preload
# Right: exit 0, stdout "ok": command substitution, subshell exit codes, traps, here-documents, pipes into sort and
#     process substitution all give under the preload what they give without.
#
# EXPECT timeout 60
. "$(dirname "$0")/../case.sh"

build() { :; }

script='
x=$( (eval printf "%s" abc 2>&1; rc=$?; printf x; exit $rc) ; echo "rc=$?"); echo "$x"
y=$(ldd /bin/ls 2>&1 | grep -c libc.so.6); echo "ldd=$y"
(trap "echo trapped" EXIT; exit 3); echo "sub=$?"
for i in 5 3 9 1; do echo $i; done | sort -n | tr "\n" " "; echo
cat <(echo one) <(echo two)
cat <<< "here $(basename /a/b/c)"
set -o pipefail; false | true; echo "pf=$?"
seq 1 200 | xargs -n 50 echo | wc -l
kill -TERM $BASHPID & wait $!; echo "killed=$?"
'

run() {
    local plain plain_status ours ours_status
    plain=$(bash -c "$script" 2>&1)
    plain_status=$?
    ours=$(preloaded bash -c "$script" 2>&1)
    ours_status=$?
    [ "$ours_status" = "$plain_status" ] || fail "status $ours_status, without the library $plain_status"
    [ "$ours" = "$plain" ] || fail "$(diff <(echo "$plain") <(echo "$ours"))"
    echo ok
}

"$1"
