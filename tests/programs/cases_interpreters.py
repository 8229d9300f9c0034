# SPDX-License-Identifier: Apache-2.0
"""Interpreters and shells."""
from matrix import Case

CASES = (
    Case("python3", "python3", {"python3*": 1}, status=9, quick=True, script=r"""
        cat > p.py <<'END'
import collections, json, re, subprocess, sys, threading
def work(n):
    return len(json.dumps(json.loads(json.dumps({str(i): list(range(i % 10)) for i in range(n)}))))
results = []
threads = [threading.Thread(target=lambda: results.append(work(5000))) for _ in range(8)]
[t.start() for t in threads]; [t.join() for t in threads]
print(results, subprocess.run(["echo", "hi"], capture_output=True).stdout)
print(collections.Counter(re.findall(r"\w", "hello world " * 1000)).most_common(3))
sys.exit(9)
END
        PYTHONMALLOC=malloc python3 p.py"""),
    Case("python3, multiprocessing", "python3", {"python3*": 5}, script=r"""
        cat > p.py <<'END'
import multiprocessing, sqlite3, zlib, ctypes
def work(n):
    db = sqlite3.connect(":memory:")
    db.execute("create table t(a, b)")
    db.executemany("insert into t values (?, ?)", ((i, str(i) * 5) for i in range(n)))
    return db.execute("select sum(length(b)) from t").fetchone()[0], len(zlib.compress(b"abc" * n))
if __name__ == "__main__":
    with multiprocessing.Pool(4) as pool:
        print(pool.map(work, [2000] * 16, chunksize=4))
        pool.close(); pool.join()
END
        python3 p.py"""),
    Case("perl", "perl", {"perl": 6}, status=3, quick=True, script=r"""
        perl -e 'my %h; $h{$_ % 5000} .= "x" x ($_ % 17) for 1 .. 100000; print scalar(keys %h), " ",
            length(join "", map { $h{$_} } sort keys %h), "\n";
            for my $n (1 .. 5) { my $p = fork; if (!$p) { my @a = map { [$_] } 1 .. 5000; exit $n }
                waitpid $p, 0; print $? >> 8, "\n" }
            open my $f, "-|", "sort | wc -l" or die; print <$f>; $SIG{__DIE__} = sub { print "died: @_" };
            eval { die "once\n" }; print "sum ", eval { my $s = 0; $s += $_ for 1 .. 1e5; $s }, "\n"; exit 3'"""),
    Case("ruby", "ruby", {"ruby*": 2}, status=7, script=r"""
        ruby --disable-gems -e 'h = Hash.new { |s, k| s[k] = "v#{k}" }; 50000.times { |i| h[i % 20000] << "x" }
            puts h.size, h.values.join.size, (1..30000).map { |i| [i, i.to_s] }.sort_by { |a, b| b }.first(3).inspect
            p Thread.new { "a".."zz" }.value.to_a.size, Process.wait2(fork { x = Array.new(10000) { |i| "s#{i}" }; exit! 2 })[1].exitstatus
            GC.start; begin; raise "once"; rescue => e; puts e.message; end; puts `echo hi`; exit 7'"""),
    Case("php", "php:php-cli", {"php*": 1}, status=255, script=r"""
        cat > a.php <<'END'
<?php
$a = []; for ($i = 0; $i < 60000; $i++) $a["k" . ($i % 9000)][] = str_repeat("v", $i % 13);
ksort($a); echo count($a), " ", strlen(serialize($a)), " ", md5(json_encode($a)), "\n";
echo preg_replace_callback('/\d+/', fn($m) => $m[0] * 2, "1 22 333"), " ", strlen(gzcompress(str_repeat("abc", 100000))), "\n";
echo shell_exec("echo hi"); throw new Exception("once");
END
        USE_ZEND_ALLOC=0 php -n -d display_errors=stderr a.php; php -n -d display_errors=stderr a.php"""),
    Case("lua", "lua5.4", {"lua5.4": 1}, status=1, script=r"""
        lua5.4 -e 't = {} for i = 1, 200000 do t[i] = {i, tostring(i)} end
            table.sort(t, function(a, b) return a[2] < b[2] end) print(#t, t[1][2], t[200000][2], #table.concat({"a", "b"}))
            c = coroutine.wrap(function() for i = 1, 3 do coroutine.yield(i) end end) print(c(), c())
            print(pcall(error, {1}) , select("#", string.byte(("x"):rep(100), 1, -1)))
            f = io.popen("echo hi") print(f:read("a")) f:close() error("at the end")'"""),
    Case("tcl", "tclsh8.6:tcl8.6", {"tclsh8.6": 1}, status=4, script=r"""
        cat > a.tcl <<'END'
for {set i 0} {$i < 50000} {incr i} { dict set d [expr {$i % 5000}] "value $i"; lappend l [expr {$i * 7919 % 10007}] }
puts "[dict size $d] [lindex [lsort -integer $l] 100] [string length $d] [exec echo hi]"
puts [catch {error once} message]$message
exit 4
END
        tclsh8.6 a.tcl"""),
    Case("guile", "guile:guile-3.0", {"guile*": 1}, status=2, script=r"""
        GUILE_AUTO_COMPILE=0 guile -c '(define (f n) (if (= n 0) (list) (cons (number->string n) (f (- n 1)))))
            (display (string-length (apply string-append (f 20000)))) (newline)
            (display (expt 7 3000)) (newline) (exit 2)'"""),
    Case("bash", "bash", {"bash": 3}, status=4, quick=True, script=r"""
        bash -c 'declare -A a; for i in {1..3000}; do a[$((i % 97))]+="$i "; done; echo ${#a[@]} ${a[5]:0:40}
            f() { [ $1 = 0 ] || f $(($1 - 1)); }; f 200; echo $(echo $(echo deep)); trap "echo bye" EXIT
            kill -0 $$; exit 4'"""),
    Case("zsh, dash", "zsh dash", {"zsh": 2, "dash": 2}, status=5, script=r"""
        zsh -fc 'typeset -A a; for i in {1..3000}; do a[$((i % 97))]+="$i "; done; echo ${#a} ${(j:,:)${(on)${(k)a}}}
            x=$(echo sub); echo $x | tr a-z A-Z; echo =(echo temp) | wc -l'
        dash -c 'i=0; while [ $i -lt 3000 ]; do i=$((i + 1)); x="$x$i "; done; echo ${#x}; (echo sub); trap "echo bye" EXIT; exit 5'"""),
)
