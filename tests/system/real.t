#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Real programs, as scripts that run them with all their helpers, recording everything and at the default rate: each
prints and returns what it does without the library, and leaves valid profiles."""
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
sys.dont_write_bytecode = True
import tap  # noqa: E402
import under  # noqa: E402

# (what, programs it needs, executable whose profile must be there, exit status, script). Each script starts in an empty
# directory.
SCRIPTS = (
    ("jq", ["jq"], "jq", 5, r"""
        jq -nc '[range(20000) | {v: {x: .}, s: "item \(.)"}]' > big.json
        jq 'map(.v.x) | add' big.json; jq -c 'group_by(.v.x % 7) | map(length)' big.json
        jq 'error("an exit status of 5")' big.json 2>&1"""),
    ("sqlite3", ["sqlite3"], "sqlite3", 1, r"""
        sqlite3 x.db "create table t(a, b);
            with recursive c(i) as (select 1 union all select i + 1 from c where i < 50000)
                insert into t select i, printf('%d', i * 7919 % 10007) from c;
            create index x on t(b); select count(distinct b), sum(a), max(b) from t where b like '%7%';
            select group_concat(a) from (select a from t order by b desc limit 50);"
        sqlite3 x.db .dump | md5sum; sqlite3 x.db "select nonsense" 2>&1 || exit 1"""),
    ("python3", ["/usr/bin/python3"], "python3*", 9, r"""
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
        PYTHONMALLOC=malloc /usr/bin/python3 p.py"""),
    ("perl", ["perl"], "perl", 3, r"""
        perl -e 'my %h; $h{$_ % 5000} .= "x" x ($_ % 17) for 1 .. 100000; print scalar(keys %h), " ",
            length(join "", map { $h{$_} } sort keys %h), "\n";
            for my $n (1 .. 5) { my $p = fork; if (!$p) { my @a = map { [$_] } 1 .. 5000; exit $n }
                waitpid $p, 0; print $? >> 8, "\n" }
            open my $f, "-|", "sort | wc -l" or die; print <$f>; $SIG{__DIE__} = sub { print "died: @_" };
            eval { die "once\n" }; print "sum ", eval { my $s = 0; $s += $_ for 1 .. 1e5; $s }, "\n"; exit 3'"""),
    ("gcc", ["gcc"], "cc1", 1, r"""
        cp {root}/tests/system/hammer.c {root}/workloads/*.c {root}/workloads/*.h .
        gcc -D_GNU_SOURCE -O2 -S -I{root} -o hammer.s hammer.c && md5sum < hammer.s
        gcc -O2 -flto -o math math.c -lm && ./math
        echo 'int main(void) { return x; }' > bad.c; gcc bad.c 2>&1"""),
    ("g++", ["g++"], "cc1plus", 0, r"""
        printf '#include <map>\n#include <regex>\n#include <iostream>\nint main() { std::map<int, int> m{{1, 2}};
            try { std::regex r("(a+"); } catch (std::regex_error &) { std::cout << "bad" << m[1]; } }' > r.cc
        g++ -O1 -std=c++17 -o r r.cc && ./r"""),
    ("git", ["git"], "git", 1, r"""
        export HOME=$PWD GIT_AUTHOR_DATE='2020-01-01T00:00:00Z' GIT_COMMITTER_DATE='2020-01-01T00:00:00Z'
        export GIT_CONFIG_NOSYSTEM=1
        git init -q r && cd r && git config user.email a@b && git config user.name n
        for i in $(seq 8); do seq $((i * 1000)) > f$i; git add . && git commit -qm $i; done
        git gc -q --aggressive; git clone -q . ../r2; cd ../r2; git fsck --full 2>&1 | grep -v ^dangling
        git log --format=%H; git diff --stat HEAD~3; git checkout -q nothing 2>&1"""),
    ("coreutils", ["sort", "md5sum"], "sort", 1, r"""
        seq 200000 | awk '{ print ($1 * 7919) % 100003 }' > n; sort --parallel=4 -S 1M n | md5sum
        sort -n -u n | tail -3; ls -l /etc/passwd | wc -l; tar cf - n | md5sum | wc -c; false"""),
    ("bash", ["bash"], "bash", 4, r"""
        bash -c 'declare -A a; for i in {1..3000}; do a[$((i % 97))]+="$i "; done; echo ${#a[@]} ${a[5]:0:40}
            f() { [ $1 = 0 ] || f $(($1 - 1)); }; f 200; echo $(echo $(echo deep)); trap "echo bye" EXIT
            kill -0 $$; exit 4'"""),
    ("C++ plugins that throw", [], "thrower", 0,
     "{programs}/thrower {programs}/thrower_plugin.so {programs}/thrower_plugin.so"),
    ("node", ["node"], "node", 6, r"""
        node -e 'const {Worker} = require("worker_threads"), cp = require("child_process"), zlib = require("zlib");
            let s = 0; for (let i = 0; i < 2e5; i++) s += JSON.stringify({i}).length;
            for (let i = 0; i < 2; i++)
                new Worker("let a = []; for (let i = 0; i < 1e5; i++) a.push({i})", {eval: true});
            console.log(cp.execSync("echo hi").toString().trim(), s,
                zlib.gunzipSync(zlib.gzipSync("x".repeat(1e6))).length);
            process.exitCode = 6'"""),
)
RATES = (("1", "recording everything"), (None, "at the default rate"))


def script_of(text):
    return text.replace("{root}", under.ROOT).replace("{programs}", os.path.join(under.ROOT, "build/tests/system"))


def run(script, settings, preload):
    """(status, output, errors, names of profiles' executables, what is wrong with them)"""
    with tempfile.TemporaryDirectory(prefix="cprof-real.") as directory:
        work, profiles = os.path.join(directory, "work"), os.path.join(directory, "profiles")
        os.mkdir(work)
        os.mkdir(profiles)
        environment = under.environment({**settings, "OUT": f"{profiles}/%e.%p.pb.gz"} if preload else {}, preload,
                                        {"LC_ALL": "C", "TMPDIR": work})
        result = subprocess.run(["bash", "-c", script], env=environment, cwd=work, capture_output=True, text=True,
                                timeout=under.TIMEOUT, check=False)
        files = glob.glob(f"{profiles}/*.pb.gz")
        names = {re.sub(r"(\.\d+)+\.pb\.gz$", "", os.path.basename(path)) for path in files}
        strangers = sorted(set(os.listdir(profiles)) - {os.path.basename(path) for path in files})
        # Temporary names are in some messages.
        outcome = [result.returncode, result.stdout.replace(directory, ""), result.stderr.replace(directory, "")]
        return outcome, names, [*strangers, *([under.check(files)] if files and under.check(files) else [])]


for what, programs, executable, status, text in SCRIPTS:
    missing = [name for name in programs if not shutil.which(name)]
    if missing:
        tap.skip(what, f"{', '.join(missing)} not installed")
        continue
    plain, _, _ = run(script_of(text), {}, None)
    tap.ok(plain[0] == status and plain[1], f"{what}: without the library", plain)
    for rate, how in RATES:
        outcome, names, wrong = run(script_of(text), {"RATE": rate} if rate else {}, under.LIBRARY)
        tap.equal(outcome, plain, f"{what}: the same, {how}")
        tap.ok(any(re.fullmatch(executable.replace("*", ".*").replace("+", r"\+"), name) for name in names),
               f"{what}: profiled, {how}", names)
        tap.equal(wrong, [], f"{what}: valid profiles, {how}")
tap.done()
