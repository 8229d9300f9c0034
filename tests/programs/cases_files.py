# SPDX-License-Identifier: Apache-2.0
"""Archives, copies, histories."""
from matrix import Case

CASES = (
    Case("git", "git", {"git": 30}, status=1, quick=True, script=r"""
        export HOME=$PWD GIT_AUTHOR_DATE='2020-01-01T00:00:00Z' GIT_COMMITTER_DATE='2020-01-01T00:00:00Z'
        export GIT_CONFIG_NOSYSTEM=1
        git init -q r && cd r && git config user.email a@b && git config user.name n
        for i in $(seq 8); do seq $((i * 1000)) > f$i; git add . && git commit -qm $i; done
        git gc -q --aggressive; git clone -q . ../r2; cd ../r2; git fsck --full 2>&1 | grep -v ^dangling
        git log --format=%H; git diff --stat HEAD~3; git checkout -q nothing 2>&1"""),
    Case("tar, xz, zstd, gzip", "tar xz:xz-utils zstd gzip bzip2", {"tar": 4, "xz": 1, "zstd": 1, "gzip": 1}, status=1, script=r"""
        mkdir d; for i in $(seq 60); do seq $((i * 300)) > d/$i; done; touch -d 2020-01-01 d/* d
        tar="tar --sort=name --owner=0 --group=0 --numeric-owner"
        $tar -I 'xz -T2 -2' -cf a.txz d; $tar -I 'zstd -T2 -q' -cf a.tzst d; $tar -I 'gzip -n' -cf a.tgz d; $tar -cjf a.tbz d
        for a in a.*; do tar tf $a | wc -l; done; xz -dc a.txz | md5sum; zstd -dqc a.tzst | md5sum; echo no | xz -dc"""),
    Case("rsync", "rsync", {"rsync": 6}, status=23, script=r"""
        mkdir a; for i in $(seq 300); do echo $i > a/$i; done; seq 100000 > a/big
        rsync -a a/ b; echo more >> b/big; rm b/7; rsync -a --no-whole-file --checksum --delete --stats a/ b | grep -E 'files transferred|deleted'
        diff -r a b && rsync -a none c 2>&1 | sed 's/(.*//'; exit ${PIPESTATUS[0]}"""),
)
