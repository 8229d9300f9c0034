# SPDX-License-Identifier: Apache-2.0
"""What administers a system, and what strains it."""
from matrix import Case

CASES = (
    Case("systemd's tools", "systemd-analyze:systemd journalctl:systemd", {"systemd-analyze": 3, "journalctl": 1},
         status=1, varies=((r"(in|ago|left|elapse:).*", r"\1 T"),), script=r"""
        systemd-analyze calendar --iterations=5 --base-time='2020-01-01' 'Mon..Fri *-*-1/2 10:00' | grep -v 'From now' 2>&1
        systemd-analyze timespan 1h30m 2>&1 | tail -2; printf '[Service]\nExecStart=/bin/true\nProtectSystem=full\n' > a.service
        systemd-analyze verify --man=no ./a.service 2>&1 | grep -c a.service; systemd-analyze syscall-filter | md5sum
        systemd-escape 'a b/c'; systemd-path | wc -l; systemd-id128 show 2> log | md5sum; journalctl --directory=. --no-pager 2>&1
        systemd-tmpfiles --cat-config 2> log | md5sum; systemctl --version | head -1; systemd-run --none 2>&1 | head -1; exit 1"""),
    Case("stress-ng, malloc", "stress-ng", {"stress-ng*": 3}, killed=("stress-ng*",),
         varies=((r"\[\d+\]", "[N]"), (r"\d+\.\d+", "T")), script=r"""
        stress-ng --malloc 2 --malloc-ops 8000 --malloc-bytes 64M --malloc-pthreads 2 --oom-avoid -q; echo $?"""),
    Case("stress-ng, allocators", "stress-ng", {"stress-ng*": 3}, killed=("stress-ng*",), script=r"""
        stress-ng --bsearch 1 --bsearch-ops 3 --qsort 1 --qsort-ops 3 --tree 1 --tree-ops 3 --hsearch 1 --hsearch-ops 3 -q; echo $?
        stress-ng --fork 1 --fork-ops 60 --vfork 1 --vfork-ops 60 --pthread 1 --pthread-ops 300 -q; echo $?"""),
    Case("openssl", "openssl", {"openssl": 7}, status=1, script=r"""
        openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out k 2>&1; openssl req -new -x509 -key k -subj /CN=x -out c
        openssl verify -CAfile c c; seq 50000 > t; openssl enc -aes-256-cbc -pbkdf2 -k pass -S 0102030405060708 -in t | md5sum
        openssl dgst -sha256 -sign k -out s t; openssl dgst -sha256 -prverify k -signature s t
        openssl x509 -in c -noout -subject; echo no > n; openssl x509 -in n 2> log"""),
    Case("ssh-keygen, ssh", "ssh-keygen:openssh-client ssh:openssh-client", {"ssh-keygen": 3, "ssh": 1}, status=255, script=r"""
        ssh-keygen -q -t ed25519 -N '' -f k -C me; ssh-keygen -q -t rsa -b 2048 -N pass -f r -C me; ssh-keygen -lf k | cut -d' ' -f1,3-
        echo text > t; ssh-keygen -Y sign -n file -f k -q t 2>&1; printf 'me %s\n' "$(cat k.pub)" > allowed
        ssh-keygen -Y verify -f allowed -I me -n file -s t.sig < t | cut -d' ' -f1-6
        ssh -F none -o BatchMode=yes -p $PORT nobody@127.0.0.1 2>&1 | tr -d '\r' | cut -c 1-30; exit ${PIPESTATUS[0]}"""),
    Case("bwrap, unshare", "bwrap:bubblewrap unshare:util-linux", {"bwrap": 1, "unshare": 1}, status=6, bare=("bwrap",), script=r"""
        unshare -m sh -c 'echo in $(ls / | wc -l | wc -l)'
        bwrap --bind / / --dev-bind /dev /dev --proc /proc --unshare-pid bash -c 'a=(); for i in {1..2000}; do a+=($i); done
            echo ${#a[@]} $$; exit 6'"""),
    Case("busybox, static", "busybox:busybox-static", {"bash": 1}, status=3, unseen=("busybox", "sh"), script=r"""
        busybox sh -c 'i=0; while [ $i -lt 2000 ]; do i=$((i + 1)); x="$x $i"; done; echo ${#x}; busybox seq 5 | busybox sort -r; exit 3'"""),
    Case("ps, lsof and others", "ps:procps find:findutils lsblk:util-linux ip:iproute2", {"ps": 1, "find": 1}, status=1, script=r"""
        ps -p 1 -o pid=; find $SOURCES/tests -name '*.t' | sort | md5sum; lsblk -V | wc -l; ip -br link show lo | wc -l
        dpkg-query -W -f '${Package}\n' | wc -l; apt-cache policy bash | sed -n 1p; getent passwd root | cut -d: -f1; id -un
        apt-cache pkgnames xyz-none; getent passwd no-such-user-here; exit 1"""),
)
