# SPDX-License-Identifier: Apache-2.0
"""Pages and graphs, drawn; browsers."""
from matrix import Case

CASES = (
    Case("ghostscript", "gs:ghostscript pdftotext:poppler-utils", {"gs": 2, "pdftotext": 1, "pdftoppm": 1}, status=1, script=r"""
        (echo '%!'; for p in 1 2 3 4; do echo '/Helvetica findfont 9 scalefont setfont'; for i in $(seq 80); do
            echo "20 $((i * 9)) moveto (page $p, line $i of a text) show"; done; echo showpage; done) > a.ps
        gs -q -dNOPAUSE -dBATCH -sDEVICE=pdfwrite -sOutputFile=a.pdf a.ps; pdftotext a.pdf - | md5sum
        gs -q -dNOPAUSE -dBATCH -sDEVICE=ppmraw -r72 -sOutputFile=- a.pdf | md5sum; pdftoppm -r 40 a.pdf p; ls p*
        echo '%! 1 0 div' | gs -q -dBATCH -sDEVICE=nullpage - 2>&1; gs -q -dBATCH -dNOPAUSE -sDEVICE=nullpage none.ps 2>&1 | sed -n 1p; exit 1"""),
    Case("graphviz", "dot:graphviz", {"dot": 2, "neato": 1}, status=1, script=r"""
        (echo 'digraph g {'; for i in $(seq 120); do echo "n$i -> n$((i * 7 % 61)); n$i -> n$((i * 11 % 37))"; done; echo '}') > a.dot
        dot -Tsvg a.dot | md5sum; neato -Tplain a.dot | wc -l; echo 'digraph {' | dot 2>&1"""),
    # The browser's own allocator is in its executable; its processes put themselves under filters, or are killed at the end.
    Case("chromium", "chromium", {"chromium": 1, "dash": 1}, silent=("chromium",), killed=("chrom*", "exe"), script=r"""
        echo '<p id=p></p><script>let a = []; for (let i = 0; i < 50000; i++) a.push({i, s: "x" + i});
            p.textContent = a.length + " " + JSON.stringify(a).length</script>' > a.html
        chromium --headless --no-sandbox --disable-gpu --no-first-run --user-data-dir=$PWD/u --disable-dev-shm-usage \
            --dump-dom file://$PWD/a.html 2> log | grep -o '<p id.*</p>'"""),
)
