#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every stack of real programs, frame by frame the same as libunwind's.

    tests/stacks/stacks.t [NAME...]      default: all

Runs each program with everything recorded by the library in build/tests/stacks, which is made of the same sources as
the one that is shipped and compares (preload/record/verify.h). A stack that is cut at CPROF_DEPTH must be the inner
part of libunwind's; and where libunwind gives up in code without unwind information (preload/backend/verify.c says
when), its must be that of ours.
"""
import glob
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "lib"))
sys.dont_write_bytecode = True
import tap  # noqa: E402

BUILD = os.path.join(ROOT, "build", "tests", "stacks")
LIBRARY = os.path.join(BUILD, "libcprof.so")
TIMEOUT = 240
FEWEST = 1000  # stacks compared for each program, or it isn't the test that it is meant to be

PYTHON_SCRIPT = """
import json, re
rows = [{"id": i, "v": {"x": i * 1.5, "n": "n%d" % i}, "t": ["a", str(i)]} for i in range(300)]
text = json.dumps(rows)
again = json.loads(text)
def nested(n):
    return [nested(n - 1)] if n else [str(n)]
print(len(text), sum(r["id"] for r in again), len(re.findall(r"n(\\d+)", text)))
print(len(sorted(text)), len(str(nested(60))))
"""
PERL_SCRIPT = """
my %h; $h{$_ % 997} .= "x$_" for 1 .. 6000;
my @s = sort { $h{$a} cmp $h{$b} } keys %h;
my $t = join ",", @s; $t =~ s/(\\d+),/<$1>/g; print length($t), "\\n";
sub deep { my $n = shift; return $n ? [deep($n - 1)] : [] } deep(50);
eval { die { code => $_ } } for 1 .. 100;
"""
SQL = """create table t(a integer primary key, b text);
with recursive c(x) as (select 1 union all select x + 1 from c where x < 3000)
insert into t select x, 'row ' || x from c; create index i on t(b); select count(*), sum(a) from t where b like '%9%';
select a % 10, count(*), length(group_concat(b)) from t group by 1 order by 2, 1;
delete from t where a % 3 = 0; vacuum;"""
NODE_SCRIPT = """
const m = new Map(); for (let i = 0; i < 3000; i++) m.set("k" + i, {i});
function deep(n) { return n ? [deep(n - 1)] : []; }
console.log(JSON.stringify([...m]).length, Buffer.alloc(1e5).length, JSON.stringify(deep(200)).length);
"""
C_SOURCE = """#include <stdio.h>
#include <stdlib.h>
#include <string.h>
struct node { struct node *left, *right; int key; };
static struct node *insert(struct node *n, int key) {
    if (!n) { n = calloc(1, sizeof *n); n->key = key; }
    else if (key < n->key) n->left = insert(n->left, key);
    else n->right = insert(n->right, key);
    return n;
}
int main(int argc, char **argv) {
    struct node *root = 0;
    for (int i = 0; i < argc; i++) root = insert(root, (int)strlen(argv[i]));
    printf("%d\\n", root ? root->key : 0);
}
"""
CC_SOURCE = """#include <map>
#include <string>
#include <vector>
template <class T> T sum(const std::vector<T> &v) { T s{}; for (auto &x : v) s += x; return s; }
int main() { std::map<std::string, std::vector<int>> m; m["a"] = {1, 2, 3}; return sum(m["a"]) - 6; }
"""
LUA_SCRIPT = """for i = 1, 200 do redis.call('hset', 'h', i, string.rep('x', i)) end
return #redis.call('hgetall', 'h')"""
NGINX_CONF = """daemon off; master_process on; worker_processes 1; pid %(dir)s/nginx.pid; %(user)s
error_log %(dir)s/error.log;
events { worker_connections 64; }
http { access_log off; client_body_temp_path %(dir)s/b; proxy_temp_path %(dir)s/p; fastcgi_temp_path %(dir)s/f;
       uwsgi_temp_path %(dir)s/u; scgi_temp_path %(dir)s/s;
       server { listen 127.0.0.1:%(port)d; root %(dir)s/www; gzip on; gzip_types text/plain; } }
"""
NGINX_HEADERS = "Host: x\r\nAccept-Encoding: gzip\r\nConnection: close\r\n"


class Run:
    """One program's directory and environment."""

    def __init__(self, directory):
        self.directory = directory
        clean = {name: value for name, value in os.environ.items() if not name.startswith("CPROF_")}
        self.plain = {**clean, "HOME": directory}
        self.profiled = {**self.plain, "LD_PRELOAD": LIBRARY, "CPROF_RATE": "1", "CPROF_DEPTH": "1024",
                         "CPROF_SYMBOLIZE": "off", "CPROF_OUT": os.path.join(directory, "profile.%e.%p.pb.gz"),
                         "CPROF_VERIFY_OUT": os.path.join(directory, "verify")}

    def path(self, name):
        return os.path.join(self.directory, name)

    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)
        return self.path(name)

    def command(self, *arguments, profiled=True):
        """Runs it to its end; returns what is wrong, or an empty string."""
        done = subprocess.run(arguments, env=self.profiled if profiled else self.plain, cwd=self.directory,
                              timeout=TIMEOUT, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              errors="replace", check=False)
        return f"{arguments[0]}: exit status {done.returncode}\n{done.stderr[-2000:]}" if done.returncode else ""

    def start(self, *arguments):
        return subprocess.Popen(arguments, env=self.profiled, cwd=self.directory, stdin=subprocess.DEVNULL,
                                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def wait_for_port(port, process):
    for _ in range(600):
        with socket.socket() as s:
            if s.connect_ex(("127.0.0.1", port)) == 0:
                return True
        if process.poll() is not None:
            return False
        time.sleep(0.05)
    return False


def ask_to_end(process, number):
    """Returns what is wrong."""
    process.send_signal(number)
    try:
        return "" if process.wait(60) == 0 else f"server: exit status {process.returncode}"
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        return "server: did not end when it was asked to"


def real_python():
    """Not a wrapper of some version manager."""
    return os.path.realpath(sys.executable)


def jq(run):
    rows = ",".join('{"a":%d,"b":["x%d",null,true],"c":{"d":%d.5}}' % (i, i, i) for i in range(500))
    run.write("in.json", f"[{rows}]")
    query = "map(select(.a % 2 == 0) | .c.d + (.b[0] | length)) | add, (map(tostring) | sort | length)"
    return run.command("jq", query, "in.json")


def sqlite3(run):
    return run.command("sqlite3", "test.db", SQL)


def python(run):
    run.profiled["PYTHONMALLOC"] = "malloc"
    return run.command(real_python(), "-S", "-c", PYTHON_SCRIPT)


def perl(run):
    return run.command("perl", "-e", PERL_SCRIPT)


def gcc(run):
    return run.command("gcc", "-O1", "-c", run.write("tree.c", C_SOURCE), "-o", "tree.o")


def gxx(run):
    return run.command("g++", "-fsyntax-only", run.write("map.cc", CC_SOURCE))


def git(run):
    wrong = ""
    name = ("-c", "user.name=T", "-c", "user.email=t@localhost")
    wrong += run.command("git", "init", "-q", ".", profiled=False)
    for i in range(12):
        run.write(f"file{i % 4}", "\n".join(f"line {n} {n * i}" for n in range(200)))
        wrong += run.command("git", *name, "add", f"file{i % 4}", profiled=False)
        wrong += run.command("git", *name, "commit", "-q", "-m", f"number {i}", profiled=False)
    wrong += run.command("git", "log", "-p", "--stat")
    wrong += run.command("git", "-c", "gc.autoDetach=false", "gc", "-q")
    return wrong + run.command("git", "blame", "file1")


def redis(run):
    port = free_port()
    server = run.start("redis-server", "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir",
                       run.directory)
    try:
        if not wait_for_port(port, server):
            return "redis-server does not answer"
        wrong = run.command("redis-benchmark", "-p", str(port), "-n", "150", "-c", "5", "-q", profiled=False)
        wrong += run.command("redis-cli", "-p", str(port), "eval", LUA_SCRIPT, "0", profiled=False)
        wrong += run.command("redis-cli", "-p", str(port), "save", profiled=False)
        return wrong + ask_to_end(server, signal.SIGTERM)
    finally:
        if server.poll() is None:
            server.kill()
            server.wait()


def nginx(run):
    port = free_port()
    os.mkdir(run.path("www"))
    run.write("www/index.html", "<p>hello\n" * 100)
    run.write("www/big.txt", "some text that can be compressed\n" * 5000)
    user = "user root;" if os.geteuid() == 0 else ""
    config = run.write("nginx.conf", NGINX_CONF % {"dir": run.directory, "port": port, "user": user})
    server = run.start(shutil.which("nginx", path=os.environ["PATH"] + ":/usr/sbin"), "-c", config, "-p", run.directory)
    try:
        if not wait_for_port(port, server):
            return "nginx does not answer"
        wrong = ""
        for name in ["index.html", "big.txt", "none", ""] * 20:
            with socket.create_connection(("127.0.0.1", port), timeout=10) as s:
                s.sendall(f"GET /{name} HTTP/1.1\r\n{NGINX_HEADERS}\r\n".encode())
                answer = b"".join(iter(lambda: s.recv(65536), b""))
            if not answer.startswith(b"HTTP/1.1 404" if name == "none" else b"HTTP/1.1 200"):
                wrong = f"nginx answers {answer[:100]!r}"
        return wrong + ask_to_end(server, signal.SIGQUIT)
    finally:
        if server.poll() is None:
            server.terminate()
            server.wait()


def throwing(run):
    return run.command(os.path.join(BUILD, "throwing"), os.path.join(BUILD, "throwing_plugin.so"), "60")


def throwing_gaps(run):
    return run.command(os.path.join(BUILD, "throwing-gaps"), os.path.join(BUILD, "throwing_plugin-gaps.so"), "40")


def turns(run):
    return run.command(os.path.join(BUILD, "turns"), "20000")


def node(run):
    run.profiled["CPROF_RATE"] = "64"  # it starts with half a million allocations
    return run.command("node", "-e", NODE_SCRIPT)


# Name, what must be there, and what runs it.
PROGRAMS = [
    ("jq", "jq", jq), ("sqlite3", "sqlite3", sqlite3), ("python3", real_python(), python), ("perl", "perl", perl),
    ("gcc", "gcc", gcc), ("g++", "g++", gxx), ("git", "git", git), ("redis", "redis-benchmark", redis),
    ("nginx", "nginx", nginx), ("throwing", os.path.join(BUILD, "throwing"), throwing),
    ("throwing-gaps", os.path.join(BUILD, "throwing-gaps"), throwing_gaps),
    ("turns", os.path.join(BUILD, "turns"), turns), ("node", "node", node),
]


def results(directory):
    """The sum of all processes' numbers, and the stacks that differ."""
    total, differences = {}, []
    for path in sorted(glob.glob(os.path.join(directory, "verify.*"))):
        with open(path, encoding="utf-8", errors="replace") as file:
            text = file.read().rstrip("\0")
        numbers, _, rest = text.partition("\n\n")
        for line in numbers.splitlines():
            word, value = line.split()
            total[word] = total.get(word, 0) + int(value)
        if rest:
            differences.append(f"{os.path.basename(path)}\n{rest}")
    return total, differences


def run_once(function, environment=None):
    """Returns what is wrong, how long it took, and the results."""
    # World-writable: a server's workers may be another user.
    with tempfile.TemporaryDirectory(prefix="cprof-stacks.") as directory:
        os.chmod(directory, 0o777)
        run = Run(directory)
        run.profiled.update(environment or {})
        begin = time.monotonic()
        wrong = function(run)
        seconds = time.monotonic() - begin
        return wrong, seconds, *results(directory)


def check(name, function):
    wrong, seconds, total, differences = run_once(function)
    tap.ok(not wrong, f"{name}: runs", wrong)
    if not tap.ok(total.get("compared", 0) >= FEWEST, f"{name}: has stacks to compare", f"got {total}"):
        return
    same = sum(value for word, value in total.items() if word.startswith("equal"))
    tap.ok(same == total["compared"] and not differences,
           f"{name}: {total['compared']} stacks, all as libunwind finds them",
           f"{total['differing']} differ", *(text[:6000] for text in differences[:4]))
    tap.equal((total["lost"], total["nodeless"]), (0, 0), f"{name}: each stack is recorded, and libunwind finds each")
    print(f"# {name}: {seconds:.1f} s; " + ", ".join(f"{word} {value}" for word, value in total.items()), flush=True)


def check_the_check():
    """Walking by frame pointers through programs that have none must be noticed."""
    _, _, total, differences = run_once(sqlite3, {"CPROF_UNWIND": "fp"})
    tap.ok(total.get("differing", 0) > 0 and differences, "sqlite3 by frame pointers: the differences are seen", total)


def main():
    if not os.path.exists(LIBRARY):
        sys.exit(f"Bail out! {LIBRARY} not built; run make test-programs")
    path = os.environ.get("PATH", "") + ":/usr/sbin"
    for name, needs, function in PROGRAMS:
        if len(sys.argv) > 1 and name not in sys.argv[1:]:
            continue
        if shutil.which(needs, path=path):
            check(name, function)
        else:
            tap.skip(f"{name}: stacks", f"no {os.path.basename(needs)} here")
    if len(sys.argv) == 1 and shutil.which("sqlite3"):
        check_the_check()
    tap.done()


if __name__ == "__main__":
    main()
