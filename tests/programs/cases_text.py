# SPDX-License-Identifier: Apache-2.0
"""Programs that read text and write text."""
from matrix import Case

CASES = (
    Case("jq", "jq", {"jq": 4}, status=5, quick=True, steady=True, script=r"""
        jq -nc '[range(20000) | {v: {x: .}, s: "item \(.)"}]' > big.json
        jq 'map(.v.x) | add' big.json; jq -c 'group_by(.v.x % 7) | map(length)' big.json
        jq 'error("an exit status of 5")' big.json 2>&1"""),
    Case("coreutils", "sort:coreutils md5sum:coreutils", {"sort": 2, "md5sum": 2}, status=1, quick=True, script=r"""
        seq 200000 | awk '{ print ($1 * 7919) % 100003 }' > n; sort --parallel=4 -S 1M n | md5sum
        sort -n -u n | tail -3; ls -l /etc/passwd | wc -l; tar cf - n | md5sum | wc -c; false"""),
    Case("awk, sed, grep", "gawk:gawk mawk:mawk sed grep", {"gawk": 1, "mawk": 1, "grep": 1, "sed": 1}, status=1,
         script=r"""
        seq 100000 | gawk '{ a[$1 % 997] = a[$1 % 997] " " $1 } END { for (i = 0; i < 3; i++) print substr(a[i], 1, 60) }'
        seq 100000 | mawk '{ s[length($1)]++ } END { for (i = 1; i < 7; i++) print i, s[i] }'
        seq 100000 | sed -E 's/(.)(.)/\2\1/g; $!d'; seq 100000 | grep -E '(12|34)+5$' | md5sum; echo a | grep -q b"""),
    Case("xmllint, xsltproc", "xmllint:libxml2-utils xsltproc", {"xmllint": 2, "xsltproc": 1}, status=1,
         script=r"""
        (echo '<r>'; for i in $(seq 20000); do echo "<e n='$i'><t>text $i</t></e>"; done; echo '</r>') > a.xml
        xmllint --xpath 'count(//e[@n mod 7 = 0])' a.xml; xmllint --format a.xml | md5sum
        cat > a.xsl <<'END'
<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform"><xsl:output method="text"/>
<xsl:template match="/"><xsl:for-each select="//e"><xsl:sort select="t"/><xsl:value-of select="t"/></xsl:for-each>
</xsl:template></xsl:stylesheet>
END
        xsltproc a.xsl a.xml | md5sum; echo '<r><a></r>' | xmllint - """),
    Case("vim", "vim", {"vim": 1}, status=1, script=r"""
        seq 20000 > a.txt
        vim -u NONE -i NONE -n -N -es -c '%s/1\(.\)/\1x/ge' -c 'g/7/m0' -c 'sort /x/' -c 'let x = range(20000)' \
            -c 'call map(x, "v:val . v:key")' -c 'call append("$", x)' -c 'w! b.txt' -c 'cquit' a.txt
        status=$?; md5sum < b.txt; exit $status"""),
    Case("emacs", "emacs:emacs-nox", {"emacs": 2}, script=r"""
        cat > a.el <<'END'
(with-temp-buffer
  (dotimes (i 20000) (insert (format "%d: %s\n" i (md5 (number-to-string i)))))
  (goto-char (point-min))
  (while (re-search-forward "a\\([0-9]\\)" nil t) (replace-match "\\1b"))
  (sort-lines nil (point-min) (point-max))
  (princ (md5 (current-buffer))) (terpri))
(require 'json)
(princ (length (json-encode (number-sequence 1 20000)))) (terpri)
END
        emacs --batch -Q -l a.el; emacs --batch -Q --eval '(byte-compile-file "a.el")' 2>&1; ls a.elc"""),
    Case("groff, mandoc", "groff mandoc", {"troff": 1, "grotty": 1, "mandoc": 1}, script=r"""
        zcat -f /usr/share/man/man1/bash.1.gz /usr/share/man/man1/gcc.1.gz > a.1 2> nothing
        [ -s a.1 ] || cp $SOURCES/build/man/cprof.1 a.1
        groff -man -Tascii -P-c a.1 2>&1 | md5sum; mandoc -T html a.1 | md5sum"""),
)
